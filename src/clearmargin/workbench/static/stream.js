// One stream of news for all tabs of a browser: browsers open only a few connections to a server, and tabs may be many.

const MOST_RECENT = 500;

// Call `take(name, body)` for all that happens after the event `last`, as long as the page is open.
export function follow(address, last, names, take) {
  const channel = new BroadcastChannel(`news of ${address}`);
  // What this tab has seen, for tabs that were not listening yet when it came.
  const recent = [];
  let newest = last;
  let leads = false;

  const receive = (news) => {
    if (news.id <= newest) return;
    newest = news.id;
    recent.push(news);
    if (recent.length > MOST_RECENT) recent.shift();
    take(news.name, news.body);
  };

  const lead = () =>
    new Promise((resolve) => {
      leads = true;
      const source = new EventSource(`${address}?last=${newest}`);
      for (const name of names) {
        source.addEventListener(name, (event) => {
          const news = { id: Number(event.lastEventId), name, body: JSON.parse(event.data) };
          channel.postMessage(news);
          receive(news);
        });
      }
      addEventListener("pagehide", () => {
        source.close();
        resolve();
      });
    });

  channel.addEventListener("message", ({ data }) => {
    if (data.seen === undefined) receive(data);
    else if (leads) recent.filter(({ id }) => id > data.seen).forEach((news) => channel.postMessage(news));
  });
  channel.postMessage({ seen: newest });
  // The tab that has the lock reads the stream; when it is closed, another one gets the lock. Pages that came over a
  // network without encryption have no locks, and a stream each.
  if (navigator.locks) navigator.locks.request(`news of ${address}`, lead);
  else lead();
  // A page that the browser has put away and brings back has heard nothing meanwhile.
  addEventListener("pageshow", (event) => event.persisted && location.reload());
}
