// Sends requests of archived scripts to the archive. This script comes first in every replayed page.
//
// The server rewrites the links in a page; this script rewrites the URLs that archived scripts make. The
// Content-Security-Policy of the page blocks requests that both miss, so this script is not a security boundary.
(() => {
  "use strict";
  if (self.__varve) return;
  const shape = /^\/web\/(?:(\d*)([a-z]{2}_)?\/)?(https?:\/\/?.*)$/i;
  const here = shape.exec(location.pathname);
  if (!here) return;
  Object.defineProperty(self, "__varve", { value: true });

  const NativeURL = URL;
  // Without a time, links lead to the default capture of each page.
  const prefix = here[1] ? `/web/${here[1]}/` : "/web/";
  const left = /^\s*(#|$|(data|blob|javascript|about|mailto|tel|chrome|file):)/i;

  // The captured URL in an address on this server, or else the text itself.
  const original = (address) => {
    const text = String(address);
    let path = text;
    if (text.startsWith(location.origin + "/")) path = text.slice(location.origin.length);
    const found = shape.exec(path);
    return found ? found[3].replace(/^(https?:\/)(?!\/)/i, "$1/") : text;
  };
  const base = () => original(document.baseURI);

  // The bar of the UI, which may frame this page, follows it. Frames inside the page tell it nothing.
  const ui = "{{ui-origin}}";
  const frames = location.ancestorOrigins;
  const isBelowBar = parent !== self && parent === top && (!frames || frames[0] === ui);
  const post = isBelowBar ? parent.postMessage.bind(parent) : () => {};
  const announce = () => post({ varve: "shown", url: original(location.href), time: here[1] || "" }, ui);
  announce();
  addEventListener("pageshow", (event) => { if (event.persisted) announce(); });

  // The address of a reference on this server.
  const to = (reference) => {
    const text = String(reference);
    if (left.test(text) || text.startsWith("/web/") || text.startsWith("/_varve/")) return text;
    let url;
    try {
      url = new NativeURL(text, base());
    } catch {
      return text;
    }
    if (url.origin === location.origin) {
      // Built by a script from what it takes for its own origin.
      if (url.pathname.startsWith("/web/")) return url.pathname + url.search + url.hash;
      const site = new NativeURL(base());
      return prefix + site.origin + url.pathname + url.search + url.hash;
    }
    return /^https?:$/.test(url.protocol) ? prefix + url.href : text;
  };
  const toSet = (set) => String(set).replace(/(^|,\s*|\s,)([^\s,][^\s]*[^\s,]|[^\s,])/g, (all, before, url) =>
    /^[\d.]+[wxh]$/.test(url) ? all : before + to(url));

  const patch = (owner, name, make) => {
    const native = owner && owner[name];
    if (typeof native === "function") owner[name] = make(native);
  };

  // Requests.
  const NativeRequest = self.Request;
  patch(self, "fetch", (native) => function (input, init) {
    if (!(input instanceof NativeRequest)) return native.call(this, to(input), init);
    const place = to(input.url);
    return native.call(this, place === input.url ? input : new NativeRequest(place, input), init);
  });
  self.Request = class extends NativeRequest {
    constructor(input, init) {
      super(input instanceof NativeRequest ? input : to(input), init);
    }
  };
  patch(XMLHttpRequest.prototype, "open", (native) => function (method, url, ...rest) {
    return native.call(this, method, to(url), ...rest);
  });
  for (const name of ["EventSource", "Worker", "SharedWorker"]) {
    const Native = self[name];
    if (Native) self[name] = class extends Native { constructor(url, ...rest) { super(to(url), ...rest); } };
  }
  patch(self.Navigator && Navigator.prototype, "sendBeacon", () => () => true);
  patch(self, "open", (native) => function (url, ...rest) {
    return native.call(this, url === undefined ? url : to(url), ...rest);
  });
  for (const name of ["RTCPeerConnection", "webkitRTCPeerConnection", "WebTransport"]) {
    try { delete self[name]; } catch { /* it stays */ }
  }
  try { Object.defineProperty(Navigator.prototype, "serviceWorker", { get: () => undefined, configurable: true }); } catch { /* it stays */ }

  const NativeAudio = self.Audio;
  self.Audio = function (url) {
    const sound = new NativeAudio();
    if (url !== undefined) sound.src = url;
    return sound;
  };
  self.Audio.prototype = NativeAudio.prototype;

  // Addresses that pages set with the History API.
  for (const name of ["pushState", "replaceState"]) {
    patch(History.prototype, name, (native) => function (state, title, url) {
      native.call(this, state, title, url === undefined || url === null ? url : to(url));
      announce();
    });
  }
  if (self.navigation && navigation.addEventListener) {
    navigation.addEventListener("navigate", (event) => {
      const url = event.destination && event.destination.url;
      if (!url || !event.cancelable || !/^https?:/.test(url)) return;
      const there = new NativeURL(url);
      if (there.origin === location.origin && there.pathname.startsWith("/web/")) return;
      event.preventDefault();
      const place = to(there.origin === location.origin ? there.pathname + there.search + there.hash : url);
      setTimeout(() => location.assign(place));
    });
  }
  const shown = original(location.href);
  const tell = (name, get) => {
    try { Object.defineProperty(document, name, { get, set() {}, configurable: true }); } catch { /* it stays */ }
  };
  tell("URL", () => original(location.href));
  tell("documentURI", () => original(location.href));
  tell("domain", () => { try { return new NativeURL(shown).hostname; } catch { return location.hostname; } });
  const referrer = document.referrer;
  tell("referrer", () => original(referrer));
  // Here all frames share one origin, also those that did not originally.
  patch(self, "postMessage", (native) => function (message, target, transfer) {
    const options = typeof target === "object" && target !== null ? { ...target, targetOrigin: "*" } : "*";
    return transfer === undefined ? native.call(this, message, options) : native.call(this, message, options, transfer);
  });

  // Attributes, set as properties or by setAttribute.
  const single = {
    src: ["HTMLImageElement", "HTMLScriptElement", "HTMLIFrameElement", "HTMLFrameElement", "HTMLMediaElement", "HTMLSourceElement", "HTMLEmbedElement", "HTMLInputElement", "HTMLTrackElement"],
    href: ["HTMLLinkElement", "HTMLAnchorElement", "HTMLAreaElement", "HTMLBaseElement"],
    action: ["HTMLFormElement"],
    formAction: ["HTMLButtonElement", "HTMLInputElement"],
    poster: ["HTMLVideoElement"],
    data: ["HTMLObjectElement"],
  };
  const accessor = (owner, name, rewrite, read) => {
    const native = owner && Object.getOwnPropertyDescriptor(owner.prototype, name);
    if (!native || !native.set) return;
    Object.defineProperty(owner.prototype, name, {
      configurable: true,
      enumerable: native.enumerable,
      get() { return read(native.get.call(this)); },
      set(value) { native.set.call(this, rewrite(value)); },
    });
  };
  for (const [name, owners] of Object.entries(single)) {
    for (const owner of owners) accessor(self[owner], name, to, original);
  }
  for (const owner of ["HTMLImageElement", "HTMLSourceElement"]) accessor(self[owner], "srcset", toSet, (text) => text);
  const links = new Set(["src", "href", "action", "formaction", "poster", "data", "background", "xlink:href"]);
  const dropped = new Set(["integrity", "ping", "referrerpolicy"]);
  const rewritten = (element, name, value) => {
    if (name === "srcset" || name === "imagesrcset") return toSet(value);
    return links.has(name) && (name !== "data" || element.localName === "object") ? to(value) : value;
  };
  const nativeSet = Element.prototype.setAttribute;
  patch(Element.prototype, "setAttribute", (native) => function (name, value) {
    const lower = String(name).toLowerCase();
    if (dropped.has(lower)) return undefined;
    return native.call(this, name, rewritten(this, lower, value));
  });
  patch(Element.prototype, "setAttributeNS", (native) => function (space, name, value) {
    return native.call(this, space, name, rewritten(this, String(name).toLowerCase(), value));
  });
  for (const name of ["HTMLScriptElement", "HTMLLinkElement"]) {
    const owner = self[name];
    if (owner) Object.defineProperty(owner.prototype, "integrity", { configurable: true, get: () => "", set() {} });
  }

  // Markup that scripts write: rewritten after it was inserted.
  const mend = (element) => {
    for (const { name, value } of [...(element.attributes || [])]) {
      const place = rewritten(element, name, value);
      if (place !== value && typeof place === "string") nativeSet.call(element, name, place);
    }
  };
  new MutationObserver((records) => {
    for (const record of records) {
      for (const node of record.addedNodes) {
        if (node.nodeType !== 1) continue;
        mend(node);
        if (node.firstElementChild) for (const inner of node.querySelectorAll("[src],[href],[srcset],[action],[poster],[data]")) mend(inner);
      }
    }
  }).observe(document, { childList: true, subtree: true });
})();
