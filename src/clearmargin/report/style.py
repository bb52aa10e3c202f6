"""The look of a report: light and dark, on phones and paper, without anything from elsewhere."""

from __future__ import annotations

__all__ = ["STYLE"]

# Text has a contrast of at least 4.5 and marks of at least 3 against the ground, in either theme (WCAG 2.2, AA).
_LIGHT = """
--ground:#ffffff;--panel:#f4f6f8;--text:#1b1f24;--quiet:#4d5863;--line:#c9d0d7;--track:#7d8792;--link:#0a4f96;
--good:#1c5e20;--bad:#9c1c1c;--c0:#1f6fb2;--c1:#b4540a;--c2:#3f7d20;--c3:#8a3fa0;--c4:#5b6570;--c5:#a3224f;
"""
_DARK = """
--ground:#14181d;--panel:#1d232a;--text:#e8ebee;--quiet:#b4bec8;--line:#3b444e;--track:#76818c;--link:#8cc4ff;
--good:#9ad69d;--bad:#ffaaa5;--c0:#6cb2f0;--c1:#f0a35e;--c2:#8fcf6a;--c3:#d199e6;--c4:#b0b8c0;--c5:#f08bb0;
"""
_CLASSES = "".join(f".c{k}{{fill:var(--c{k})}}.s{k}{{stroke:var(--c{k})}}" for k in range(6))

STYLE = (
    f":root{{color-scheme:light dark;{_LIGHT}}}"
    f"@media (prefers-color-scheme:dark){{:root{{{_DARK}}}}}"
    """
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--ground);color:var(--text);font:1rem/1.55 system-ui,-apple-system,"Segoe UI",Roboto,
"Helvetica Neue",Arial,sans-serif;overflow-wrap:anywhere}
.page{max-width:76rem;margin:0 auto;padding:0 1rem 3rem}
h1{font-size:1.7rem;line-height:1.2;margin:1.5rem 0 .5rem}
h2{font-size:1.3rem;margin:2.5rem 0 .75rem;padding-top:.75rem;border-top:1px solid var(--line)}
h3{font-size:1.1rem;margin:1.75rem 0 .5rem}
.card h3,.card h4{font-size:1rem;margin:0}
p{margin:.5rem 0;max-width:46rem}
ul.plain{padding-left:1.2rem;max-width:46rem}
ul.plain li{margin:.3rem 0}
a{color:var(--link)}
a:focus-visible,summary:focus-visible,.scroll:focus-visible,main:focus-visible{outline:3px solid var(--link);
outline-offset:2px}
.skip{position:absolute;left:-100vw;top:0;background:var(--ground);padding:.5rem 1rem;z-index:1}
.skip:focus{left:0}
.quiet{color:var(--quiet)}
nav ul{list-style:none;margin:.5rem 0;padding:0;display:flex;flex-wrap:wrap;gap:.25rem 1rem}
nav a{display:inline-block;padding:.2rem 0}
.scroll{overflow-x:auto;margin:1rem 0;background:linear-gradient(90deg,var(--ground) 40%,transparent) left/3rem 100%
no-repeat local,linear-gradient(270deg,var(--ground) 40%,transparent) right/3rem 100% no-repeat local,
linear-gradient(90deg,var(--line),transparent) left/.75rem 100% no-repeat scroll,
linear-gradient(270deg,var(--line),transparent) right/.75rem 100% no-repeat scroll}
table{border-collapse:collapse;font-size:.92rem;font-variant-numeric:tabular-nums}
caption{text-align:left;font-weight:600;padding:0 0 .35rem}
th,td{text-align:left;vertical-align:top;padding:.35rem .75rem .35rem 0;border-bottom:1px solid var(--line);
min-width:7rem;max-width:24rem}
.number{min-width:3rem}
:is(th,td):has(code){min-width:14rem}
thead th{color:var(--quiet);font-weight:600;vertical-align:bottom;overflow-wrap:normal}
tbody th{font-weight:500;min-width:9rem}
.number{text-align:right}
td.number{white-space:nowrap}
code,pre{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.87em}
pre{background:var(--panel);border:1px solid var(--line);border-radius:4px;padding:.75rem;margin:.75rem 0;
white-space:pre-wrap}
.card{border:1px solid var(--line);border-radius:6px;padding:.75rem 1rem;margin:.75rem 0;background:var(--panel)}
.head{display:flex;flex-wrap:wrap;gap:.25rem 1rem;justify-content:space-between;align-items:baseline}
.mark{font-size:.85rem;font-weight:600;border:1px solid currentColor;border-radius:1rem;padding:0 .6rem;
margin-left:.35rem;white-space:nowrap}
.mark.proved{color:var(--good)}.mark.wrong{color:var(--bad)}.mark.observed,.mark.plain{color:var(--quiet)}
.lines{list-style:none;margin:.5rem 0;padding:0;display:grid;gap:.3rem}
.lines li{display:grid;grid-template-columns:1fr;gap:0 1rem;align-items:center}
.range{display:flex;align-items:center;gap:.4rem;font-size:.8rem;color:var(--quiet);font-variant-numeric:tabular-nums}
.end{flex:0 0 4rem;overflow-wrap:normal}.end:first-child{text-align:right}
svg.bar{flex:1 1 6rem;min-width:5rem;max-width:16rem;height:.9rem;display:block}
td svg.bar{width:8rem}
svg.chart{width:100%;max-width:32rem;height:auto;display:block}
svg.sample{width:2rem;height:.75rem;vertical-align:middle;margin-right:.4rem}
svg text{fill:var(--quiet);font-size:12px}
.track{fill:var(--track);opacity:.55}.hollow{fill:none;stroke:var(--track)}.grid{stroke:var(--line)}
.tick{stroke:var(--text);stroke-width:3}.curve{fill:none;stroke-width:2.5}
""" + _CLASSES + """
dl.facts{display:flex;flex-wrap:wrap;gap:.25rem 1.5rem;margin:.5rem 0 0;font-size:.92rem}
dl.facts div{display:flex;flex-wrap:wrap;gap:0 .4rem}
dl.facts div:has(code){flex-basis:100%}
dt{color:var(--quiet)}dd{margin:0;font-weight:600}dd code{font-weight:400}
details{margin:.75rem 0}
.card details{margin:.4rem 0 0;font-size:.92rem}
summary{cursor:pointer;color:var(--link);padding:.2rem 0}
figure{margin:1rem 0}
figcaption{font-size:.92rem}
.legend{list-style:none;margin:.3rem 0;padding:0;display:flex;flex-wrap:wrap;gap:.2rem 1.25rem}
footer{margin-top:3rem;padding-top:.75rem;border-top:1px solid var(--line);font-size:.92rem}
@media (max-width:30rem){table{font-size:.82rem}th,td{padding-right:.3rem;min-width:4.5rem}tbody th{min-width:5rem}
.number{min-width:0}}
@media (min-width:44rem){.lines li{grid-template-columns:minmax(12rem,22rem) minmax(14rem,1fr)}}
@media (min-width:70rem){.page{display:grid;grid-template-columns:13rem minmax(0,1fr);gap:0 2.5rem}
.page>header,.page>footer{grid-column:2}nav{grid-row:1/span 2;grid-column:1;position:sticky;top:0;align-self:start;
padding-top:1.5rem;max-height:100vh;overflow-y:auto}nav ul{flex-direction:column}main{grid-column:2}}
"""
    f"@media print{{:root{{color-scheme:light;{_LIGHT}}}"
    """
html{font-size:9pt}.lines{gap:0}.lines li{grid-template-columns:3fr 2fr}.card{padding:.4rem .75rem;margin:.5rem 0}
h2{margin-top:1.5rem}.page{display:block;max-width:none;padding:0}nav,.skip{display:none}
svg,.card,.mark{print-color-adjust:exact;-webkit-print-color-adjust:exact}
.card,figure,tr{break-inside:avoid}h2,h3,h4,caption,summary{break-after:avoid}thead{display:table-header-group;break-after:avoid}
.scroll{overflow:visible;background:none}td.number{white-space:normal}th,td{min-width:0}
details::details-content{content-visibility:visible;display:block;block-size:auto}summary{list-style:none;color:inherit}
a{color:inherit;text-decoration:none}}
"""
).replace("\n", "")
