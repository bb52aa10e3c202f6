"""How the documentation is built: `make docs`. Nothing is fetched from elsewhere."""

import ast
import re
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from pygments.lexer import RegexLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Whitespace

import clearmargin

project = "clearmargin"
author = "The clearmargin developers"
version = release = clearmargin.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "_templates"]
templates_path = ["_templates"]
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
# Names in docstrings are links where they name something of ours, and code where they do not.
default_role = "py:obj"
# The mathematics in docstrings is plain text.
highlight_language = "none"

autosummary_generate = True
autodoc_member_order = "bysource"
# Docstrings say the types in words.
autodoc_typehints = "none"
# Members come from the template for classes.
numpydoc_show_class_members = False

# An example without a figure is shown by what it prints: rules.
built = Path(__file__).parent / "_build"
built.mkdir(exist_ok=True)
cover = Figure(figsize=(4, 2.8), facecolor="#f3f4f5")
cover.text(0.5, 0.5, "if … then", ha="center", va="center", fontsize=34, color="#0a7d91")
cover.savefig(built / "cover.png")

sphinx_gallery_conf = {
    "default_thumb_file": str(built / "cover.png"),
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": "",  # all of them are run
    "within_subsection_order": "FileNameSortKey",
    "doc_module": ("clearmargin",),
    "backreferences_dir": "gallery/backreferences",
    "capture_repr": (),  # what an example has to say it prints or draws
    "abort_on_example_error": True,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "download_all_examples": False,
    "min_reported_time": 3600,
}

html_theme = "pydata_sphinx_theme"
html_title = f"clearmargin {release}"
html_static_path = ["_static"]
html_css_files = ["page.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"start": [], "gallery/**": [], "decisions": []}
project_copyright = "The clearmargin developers, BSD 3-clause licence"


class RuleLexer(RegexLexer):
    """Colours for the rule language."""

    name = "clearmargin rules"
    tokens = {  # noqa: RUF012 - the form that Pygments asks for
        "root": [
            (r"\s+", Whitespace),
            (r"#.*", Comment.Single),
            (r"`(\\.|[^`\\])*`", String),
            (r"(?i)\b(and|or|not|in|true|false)\b", Keyword),
            (r"^(classes(?=\s*:)|feature\b(?!\s*:))", Keyword),
            (r"=>|[<>]=?|==?|!=|[≤≥]", Operator),
            (r"[-+*]", Operator),
            (r"(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", Number),
            (r"[^\W\d][\w.]*", Name),
            (r".", Punctuation),
        ]
    }


def escape_bars(
    app: Any, what: str, name: str, thing: object, options: object, lines: list[str]
) -> None:
    """Keep |x| an absolute value in the mathematics of modules and classes; indented lines and code are literal."""
    if what in {"module", "class"}:
        lines[:] = [
            line if line.startswith(" ") else re.sub(r"(``.*?``)|\|", lambda m: m[1] or r"\|", line)
            for line in lines
        ]


def as_markdown(paragraph: str) -> str:
    """Keep the lines of mathematics, which are indented, as they are; lists are indented, too."""
    is_list = paragraph.lstrip().startswith(("- ", "* "))
    is_literal = "\n " in f"\n{paragraph}" and not is_list
    return f"```text\n{paragraph}\n```" if is_literal else re.sub("::$", ":", paragraph)


def write_programs(app: Any) -> None:
    """Collect the modules that state an algorithm at their head and are on no other page, for `programs.md`."""
    docs = built.parent
    pages = [path.read_text(encoding="utf-8") for path in docs.glob("[!_]*/*.md")]
    shown = set(re.findall(r"automodule:: ([\w.]+)", "\n".join(pages)))
    package = Path(clearmargin.__file__).parent
    lines = []
    for room in sorted(path.parent for path in package.glob("*/__init__.py")):
        described = []
        for path in sorted(room.rglob("*.py")):
            module = ".".join(["clearmargin", *path.relative_to(package).with_suffix("").parts])
            text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
            # A sentence or two say what a module is for, more than that how it works.
            if path.stem != "__init__" and text.count("\n") >= 4 and module not in shown:
                described += [
                    f"### {module.partition('.')[2]}",
                    *map(as_markdown, text.split("\n\n")),
                ]
        lines += [f"## {room.name}", *described] if described else []
    (built / "programs.md").write_text("\n\n".join(lines), encoding="utf-8")


def setup(app: Any) -> None:
    """Make the language of ```rules blocks known, read bars as bars, and list the programs."""
    app.connect("builder-inited", write_programs)
    app.add_lexer("rules", RuleLexer)
    app.connect("autodoc-process-docstring", escape_bars)
