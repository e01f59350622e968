// Makes the bar of /view follow the page in the frame. Each replayed page says where it is; its bar is
// then fetched from this server. A page could say something false, so only URLs of the archive get a bar.
"use strict";
(() => {
  const frame = document.querySelector("iframe[name=replay]");
  const origin = new URL(frame.src).origin;
  let shown = frame.dataset.url;
  let loads = 0;
  let told = false;

  const follow = async (url, time) => {
    const place = "/view?" + (time ? `time=${encodeURIComponent(time)}&` : "") + `url=${encodeURIComponent(url)}`;
    const answer = await fetch(place);
    if (!answer.ok || url !== shown) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const bar = page.querySelector("header.bar");
    if (!bar) return;
    document.querySelector("header.bar").replaceWith(bar);
    document.title = page.title;
    history.replaceState(null, "", place);
  };

  addEventListener("message", (event) => {
    if (event.source !== frame.contentWindow || event.origin !== origin) return;
    const { varve, url, time } = event.data || {};
    if (varve !== "shown" || typeof url !== "string" || typeof time !== "string" || !/^\d{0,20}$/.test(time)) return;
    told = true;
    if (url === shown) return;
    shown = url;
    follow(url, time);
  });

  // A file that is not a page, such as an image, says nothing: the bar is not about it.
  frame.addEventListener("load", () => {
    document.querySelector("header.bar").classList.toggle("stale", !told && loads > 0);
    if (!told) shown = "";
    told = false;
    loads += 1;
  });
})();
