// Sends requests of archived scripts to the archive. This script comes first in every replayed document.
//
// The server rewrites the links in a document; this script rewrites the URLs that archived scripts make. The
// Content-Security-Policy of the document blocks requests that both miss. No policy confines where a window of its
// own navigates, or WebRTC: for these this script must also be in every window that a page can make without a
// request, so it adopts empty frames, and puts itself first in `srcdoc` and in blobs of HTML.
(() => {
  "use strict";
  const SHAPE = /^\/web\/(?:(\d*)([a-z]{2}_)?\/)?(https?:\/\/?.*)$/i;
  const STAYS = /^\s*(#|$|(data|blob|javascript|about|mailto|tel|chrome|file):)/i;
  const ORIGIN = self.origin;
  const drop = (owner, name) => {
    try { delete owner[name]; } catch { /* it stays */ }
  };
  // Connections that no policy confines. A sandboxed frame has no place in the archive, but it must lose them too.
  const dropConnections = (view) => {
    for (const name of ["RTCPeerConnection", "webkitRTCPeerConnection", "WebTransport"]) drop(view, name);
  };
  dropConnections(self);
  // Where this document is in the archive. A document that was made by another one is where that one is.
  const place = (() => {
    const given = document.currentScript && document.currentScript.dataset && document.currentScript.dataset.at;
    if (given) return SHAPE.exec(given);
    for (let frame = self; ; frame = frame.parent) {
      try {
        const found = SHAPE.exec(frame.location.pathname);
        if (found || frame === frame.parent) return found;
      } catch {
        return null;
      }
    }
  })();
  if (!place) return;

  const NativeURL = URL;
  const NativeBlob = Blob;
  const digits = place[1] || "";
  // Without a time, links lead to the default capture of each page.
  const prefix = digits ? `/web/${digits}/` : "/web/";
  const script = `${ORIGIN}/_varve/replay.js`;
  const quoted = (text) => text.replace(/&/g, "&amp;").replace(/"/g, "&quot;");

  // The captured URL in an address on this server, or else the text itself.
  const original = (address) => {
    const text = String(address);
    const found = SHAPE.exec(text.startsWith(ORIGIN + "/") ? text.slice(ORIGIN.length) : text);
    return found ? found[3].replace(/^(https?:\/)(?!\/)/i, "$1/") : text;
  };
  const fallback = original(prefix + place[3]);

  // Blobs of XML, or of an unknown type, may have scripts in them that this one cannot precede.
  const unreadable = new Set();

  // Whether a navigation to this address, resolved by the browser, may go on.
  const isHere = (url) => url.origin === ORIGIN && url.pathname.startsWith("/web/");

  // The bar of the UI, which may frame this page, follows it. Frames inside the page tell it nothing.
  const ui = "{{ui-origin}}";
  const ancestors = location.ancestorOrigins;
  const isBelowBar = parent !== self && parent === top && (!ancestors || ancestors[0] === ui);
  const post = isBelowBar ? parent.postMessage.bind(parent) : () => {};
  const announce = () => post({ varve: "shown", url: original(location.href), time: digits }, ui);

  const patch = (owner, name, make) => {
    const native = owner && owner[name];
    if (typeof native === "function") owner[name] = make(native);
  };
  const redefine = (owner, name, property) => {
    try { Object.defineProperty(owner, name, { configurable: true, ...property }); } catch { /* it stays */ }
  };

  // All of it for one window: this one, or the window of an empty frame, whose scripts are those of this page.
  const install = (view) => {
    const base = () => {
      const shown = original(view.document.baseURI);
      return /^https?:/i.test(shown) ? shown : fallback;
    };

    // The address of a reference on this server.
    const to = (reference) => {
      const text = String(reference);
      if (STAYS.test(text) || text.startsWith("/web/") || text.startsWith("/_varve/")) return text;
      let url;
      try {
        url = new NativeURL(text, base());
      } catch {
        return text;
      }
      if (url.origin === ORIGIN) {
        // Built by a script from what it takes for its own origin.
        if (isHere(url)) return url.pathname + url.search + url.hash;
        return prefix + new NativeURL(base()).origin + url.pathname + url.search + url.hash;
      }
      return /^https?:$/.test(url.protocol) ? prefix + url.href : text;
    };
    const toSet = (set) => String(set).replace(/(^|,\s*|\s,)([^\s,][^\s]*[^\s,]|[^\s,])/g, (all, before, url) =>
      /^[\d.]+[wxh]$/.test(url) ? all : before + to(url));
    // A document in an attribute, with this script first.
    const toDocument = (markup) => {
      const text = String(markup);
      return text.includes("/_varve/replay.js") ? text : `<script src="${script}"></script>${hold(text)}`;
    };

    // Attributes.
    const links = new Set(["src", "href", "action", "formaction", "poster", "data", "background", "xlink:href"]);
    // Elements whose links are shown as documents, with their scripts.
    const documents = new Set(["iframe", "frame", "object", "embed", "a", "area", "form"]);
    const dropped = new Set(["integrity", "ping", "referrerpolicy", "attributionsrc"]);
    // Words of `rel` that make the browser connect at once, whatever the policy says.
    const hints = /\b(dns-prefetch|preconnect|prerender)\b/gi;
    const rewritten = (element, name, value) => {
      const kind = element.localName;
      if (name === "srcset" || name === "imagesrcset") return toSet(value);
      if (name === "srcdoc" && kind === "iframe") return toDocument(value);
      if (name === "rel" && kind === "link") return String(value).replace(hints, "x-archive-orig");
      if (name === "type" && kind === "script") return String(value).replace(/^\s*speculationrules\s*$/i, "x-archive-orig");
      if (!links.has(name) || (name === "data" && kind !== "object")) return value;
      return documents.has(kind) && unreadable.has(String(value).trim()) ? "about:blank" : to(value);
    };
    const nativeSet = view.Element.prototype.setAttribute;
    const mend = (element) => {
      for (const { name, value } of [...(element.attributes || [])]) {
        const lower = name.toLowerCase();
        if (dropped.has(lower)) {
          element.removeAttribute(name);
          continue;
        }
        const other = rewritten(element, lower, value);
        if (other !== value && typeof other === "string") nativeSet.call(element, name, other);
      }
    };
    // Markup in which the links that a browser follows at once are held.
    const hold = (markup) => String(markup).replace(/<link\b[^>]*>/gi, (tag) => tag.replace(hints, "x-archive-orig"));

    // Requests.
    const NativeRequest = view.Request;
    patch(view, "fetch", (native) => function (input, init) {
      if (!(input instanceof NativeRequest)) return native.call(this, to(input), init);
      const there = to(input.url);
      return native.call(this, there === input.url ? input : new NativeRequest(there, input), init);
    });
    view.Request = class extends NativeRequest {
      constructor(input, init) {
        super(input instanceof NativeRequest ? input : to(input), init);
      }
    };
    patch(view.XMLHttpRequest.prototype, "open", (native) => function (method, url, ...rest) {
      return native.call(this, method, to(url), ...rest);
    });
    for (const name of ["EventSource", "Worker", "SharedWorker"]) {
      const Native = view[name];
      if (Native) view[name] = class extends Native { constructor(url, ...rest) { super(to(url), ...rest); } };
    }
    patch(view.Navigator.prototype, "sendBeacon", () => () => true);
    dropConnections(view);
    redefine(view.Navigator.prototype, "serviceWorker", { get: () => undefined });
    const NativeAudio = view.Audio;
    view.Audio = function (url) {
      const sound = new NativeAudio();
      if (url !== undefined) sound.src = url;
      return sound;
    };
    view.Audio.prototype = NativeAudio.prototype;

    // Windows. One that a page could hold while it is empty could be sent anywhere, so only frames are returned.
    const isFrame = (name) => {
      if (/^_(self|parent|top)$/i.test(name)) return true;
      const named = (frame) => {
        try {
          if (frame.name === name) return true;
          for (let at = 0; at < frame.length; at += 1) if (named(frame[at])) return true;
        } catch { /* not of this origin */ }
        return false;
      };
      return name !== "" && !/^_/.test(name) && named(view.top);
    };
    patch(view, "open", (native) => function (url, name, features) {
      const target = name === undefined ? "" : String(name);
      if (isFrame(target)) return native.call(this, url === undefined ? url : to(url), target, features);
      const text = url === undefined ? "" : String(url).trim();
      if (text !== "" && !/^(about|javascript|data|blob):/i.test(text)) native.call(this, to(text), "_blank", "noopener");
      return null;
    });
    const adopt = (frame) => {
      try {
        if (frame && frame.origin === ORIGIN && !frame.__varve && !SHAPE.test(frame.location.pathname)) install(frame);
      } catch { /* it shows a document of another origin */ }
      return frame;
    };
    const adoptAll = () => {
      for (let at = 0; at < view.length; at += 1) adopt(view[at]);
    };
    const inserting = (owner, names) => {
      for (const name of names) {
        patch(owner && owner.prototype, name, (native) => function (...given) {
          const result = native.apply(this, given);
          if (view.length > 0) adoptAll();
          return result;
        });
      }
    };
    inserting(view.Node, ["appendChild", "insertBefore", "replaceChild"]);
    for (const owner of ["Element", "CharacterData"]) inserting(view[owner], ["before", "after", "replaceWith"]);
    for (const owner of ["Element", "Document", "DocumentFragment"]) {
      inserting(view[owner], ["append", "prepend", "replaceChildren"]);
    }
    inserting(view.Element, ["insertAdjacentElement"]);
    inserting(view.Range, ["insertNode", "surroundContents"]);
    for (const owner of ["HTMLIFrameElement", "HTMLFrameElement", "HTMLObjectElement", "HTMLEmbedElement"]) {
      const shown = view[owner] && Object.getOwnPropertyDescriptor(view[owner].prototype, "contentWindow");
      if (!shown) continue;
      redefine(view[owner].prototype, "contentWindow", { get() { return adopt(shown.get.call(this)); } });
      const inner = Object.getOwnPropertyDescriptor(view[owner].prototype, "contentDocument");
      redefine(view[owner].prototype, "contentDocument", { get() { adopt(shown.get.call(this)); return inner.get.call(this); } });
    }

    // Markup that scripts write.
    const writing = (owner, name) => {
      const native = owner && Object.getOwnPropertyDescriptor(owner.prototype, name);
      if (!native || !native.set) return;
      redefine(owner.prototype, name, {
        enumerable: native.enumerable,
        get: native.get,
        set(markup) { native.set.call(this, markup === null ? markup : hold(markup)); adoptAll(); },
      });
    };
    for (const owner of [view.Element, view.ShadowRoot]) writing(owner, "innerHTML");
    writing(view.Element, "outerHTML");
    const parsing = (owner, name, argument) => patch(owner && owner.prototype, name, (native) => function (...given) {
      if (given.length > argument) given[argument] = hold(given[argument]);
      const result = native.apply(this, given);
      adoptAll();
      return result;
    });
    parsing(view.Element, "insertAdjacentHTML", 1);
    for (const owner of [view.Element, view.ShadowRoot]) parsing(owner, "setHTMLUnsafe", 0);
    parsing(view.Range, "createContextualFragment", 0);
    parsing(view.DOMParser, "parseFromString", 0);
    for (const name of ["write", "writeln"]) {
      patch(view.Document.prototype, name, (native) => function (...pieces) {
        native.call(this, hold(pieces.join("")));
        adoptAll();
      });
    }

    // Documents that scripts make.
    patch(view.URL, "createObjectURL", (native) => function (object) {
      if (!object || typeof object.slice !== "function") return native.call(this, object);
      const type = String(object.type).split(";")[0].trim().toLowerCase();
      if (type === "text/html") {
        const first = `<script src="${script}" data-at="${quoted(prefix + base())}"></script>`;
        return native.call(this, new NativeBlob([first, object], { type: object.type }));
      }
      const url = native.call(this, object);
      if (type === "" || /xml$/.test(type)) unreadable.add(url);
      return url;
    });

    // Addresses that pages set with the History API, and navigation.
    for (const name of ["pushState", "replaceState"]) {
      patch(view.History.prototype, name, (native) => function (state, title, url) {
        native.call(this, state, title, url === undefined || url === null ? url : to(url));
        if (view === self) announce();
      });
    }
    if (view.navigation && view.navigation.addEventListener) {
      view.navigation.addEventListener("navigate", (event) => {
        const url = event.destination && event.destination.url;
        if (!url || !event.cancelable) return;
        if (unreadable.has(url)) event.preventDefault();
        if (!/^https?:/.test(url)) return;
        const there = new NativeURL(url);
        if (isHere(there)) return;
        event.preventDefault();
        const other = to(there.origin === ORIGIN ? there.pathname + there.search + there.hash : url);
        view.queueMicrotask(() => view.location.assign(other));
      });
    }
    // A click opens what the link says at that moment, in whatever tree it is.
    const mendPath = (path) => {
      for (const node of path) if (node && /^(a|area)$/i.test(node.localName)) mend(node);
    };
    const mendAround = (node) => {
      const path = [];
      for (let at = node; at; at = at.parentNode || at.host) path.push(at);
      mendPath(path);
    };
    patch(view.HTMLElement.prototype, "click", (native) => function () {
      mendAround(this);
      return native.call(this);
    });
    patch(view.EventTarget.prototype, "dispatchEvent", (native) => function (event) {
      if (event && /click$/.test(event.type) && this && this.nodeType) mendAround(this);
      return native.call(this, event);
    });
    const onClick = (event) => mendPath(event.composedPath());
    const onSubmit = (event) => {
      for (const node of [event.target, event.submitter]) if (node && node.nodeType === 1) mend(node);
    };
    // Here all frames share one origin, also those that did not originally.
    patch(view, "postMessage", (native) => function (message, target, transfer) {
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
      srcset: ["HTMLImageElement", "HTMLSourceElement"],
      srcdoc: ["HTMLIFrameElement"],
      rel: ["HTMLLinkElement"],
      type: ["HTMLScriptElement"],
    };
    for (const [name, owners] of Object.entries(single)) {
      const attribute = name.toLowerCase();
      const read = links.has(attribute) ? original : (text) => text;
      for (const owner of owners) {
        const native = view[owner] && Object.getOwnPropertyDescriptor(view[owner].prototype, name);
        if (!native || !native.set) continue;
        redefine(view[owner].prototype, name, {
          enumerable: native.enumerable,
          get() { return read(native.get.call(this)); },
          set(value) { native.set.call(this, rewritten(this, attribute, value)); },
        });
      }
    }
    patch(view.Element.prototype, "setAttribute", (native) => function (name, value) {
      const lower = String(name).toLowerCase();
      if (dropped.has(lower)) return undefined;
      return native.call(this, name, rewritten(this, lower, value));
    });
    patch(view.Element.prototype, "setAttributeNS", (native) => function (space, name, value) {
      return native.call(this, space, name, rewritten(this, String(name).toLowerCase(), value));
    });
    for (const name of ["setAttributeNode", "setAttributeNodeNS"]) {
      patch(view.Element.prototype, name, (native) => function (attribute) {
        if (attribute) attribute.value = rewritten(this, String(attribute.name).toLowerCase(), attribute.value);
        return native.call(this, attribute);
      });
    }
    for (const name of ["HTMLScriptElement", "HTMLLinkElement"]) {
      if (view[name]) redefine(view[name].prototype, "integrity", { get: () => "", set() {} });
    }

    // What scripts insert in other ways is rewritten after it was inserted.
    const observe = (root) => new view.MutationObserver((records) => {
      for (const record of records) {
        for (const node of record.addedNodes) {
          if (node.nodeType !== 1) continue;
          mend(node);
          if (!node.firstElementChild) continue;
          for (const inner of node.querySelectorAll("[src],[href],[srcset],[action],[poster],[data],[srcdoc]")) mend(inner);
        }
      }
      adoptAll();
    }).observe(root, { childList: true, subtree: true });
    patch(view.Element.prototype, "attachShadow", (native) => function (options) {
      const root = native.call(this, options);
      observe(root);
      return root;
    });

    // What belongs to one document of this window. An empty frame keeps its window when it gets a page.
    const installDocument = () => {
      const { document } = view;
      observe(document);
      for (const event of ["click", "auxclick"]) view.addEventListener(event, onClick, true);
      view.addEventListener("submit", onSubmit, true);
      const shown = () => original(view.location.href);
      const tell = (name, get) => redefine(document, name, { get, set() {} });
      tell("URL", shown);
      tell("documentURI", shown);
      const at = shown();
      tell("domain", () => { try { return new NativeURL(at).hostname; } catch { return view.location.hostname; } });
      const { referrer } = document;
      tell("referrer", () => original(referrer));
    };
    // `document.open` removes the listeners of its window.
    patch(view.Document.prototype, "open", (native) => function (...given) {
      const result = native.apply(this, given);
      if (this.defaultView) adopt(this.defaultView);
      if (this === view.document) {
        for (const event of ["click", "auxclick"]) view.addEventListener(event, onClick, true);
        view.addEventListener("submit", onSubmit, true);
      }
      return result;
    });
    installDocument();
    Object.defineProperty(view, "__varve", { value: installDocument });
    adoptAll();
  };

  if (self.__varve) self.__varve();
  else install(self);
  announce();
  addEventListener("pageshow", (event) => { if (event.persisted) announce(); });
})();
