//! Collects the attack surface of a page from its address, headers and body.
//!
//! A form has every input up to its end tag, wherever browsers put it in the tree, because a form
//! sends all of them. A form inside a form is ignored, as in browsers. Bodies that are not declared
//! as markup are not searched for tags.

use crate::cookie::{query_parameters, read_cookie};
use crate::reach::{self, FoundOutbound};
use crate::surface::{
    AttackSurface, ElementPlace, FormInput, InlineHandler, InsecureElement, OutboundKind, PageForm,
    PageFrame, PageScript, RequestParameter,
};
use crate::text::attribute_selector;
use crate::tokens::{ScoredTag, ScoredTags};
use crate::{ScoreLimits, ScoredPage};
use std::borrow::Cow;
use std::collections::BTreeSet;
use url::{Host, Url};

/// Number of bytes at the beginning of a body that decide its encoding.
const MAX_ENCODING_BYTES: usize = 4 << 10;

/// The attack surface of a page.
pub(crate) fn collect(page: &ScoredPage<'_>, limits: &ScoreLimits) -> AttackSurface {
    let mut surface = from_head(page);
    if is_markup(&surface.content_type) {
        let body = &page.body[..page.body.len().min(limits.body)];
        surface.is_truncated |= body.len() < page.body.len();
        let (text, has_bytes) = transcode(body, &surface.content_type);
        let mut scan = SurfaceScan::new(page.url, &text, has_bytes, limits, surface);
        for tag in ScoredTags::new(&text) {
            scan.take(&tag);
        }
        surface = scan.surface;
        find_selectors(&mut surface, &text);
    }
    surface
}

/// Finds a selector for each element of the surface.
fn find_selectors(surface: &mut AttackSurface, text: &[u8]) {
    let mut places: Vec<&mut ElementPlace> = Vec::new();
    for form in &mut surface.forms {
        places.push(&mut form.place);
        places.extend(form.inputs.iter_mut().map(|input| &mut input.place));
    }
    places.extend(surface.scripts.iter_mut().map(|script| &mut script.place));
    places.extend(surface.frames.iter_mut().map(|frame| &mut frame.place));
    places.extend(surface.elements.insecure.iter_mut().map(|insecure| &mut insecure.place));
    places.extend(surface.elements.handlers.iter_mut().map(|handler| &mut handler.place));
    places.extend(surface.elements.outbound.iter_mut().map(|reach| &mut reach.place));
    let starts: BTreeSet<usize> = places.iter().map(|place| place.start).collect();
    let found = crate::selectors::of_tags(text, &starts);
    for place in places {
        place.selector = found.get(&place.start).cloned();
    }
}

/// The surface of address and headers.
fn from_head(page: &ScoredPage<'_>) -> AttackSurface {
    let (get_params, is_truncated) = query_parameters(page.url);
    let set = page.headers.get("set-cookie").unwrap_or_default();
    let cookies: Vec<_> =
        set.iter().take(crate::cookie::MAX_SCORED_COOKIES).filter_map(|value| read_cookie(value)).collect();
    AttackSurface {
        url: page.url.to_owned(),
        snapshot_id: page.snapshot_id.to_owned(),
        collected_at: crate::json::instant(page.time),
        status_code: page.status,
        headers: page.headers.iter().map(|(name, values)| (name.to_owned(), values.to_vec())).collect(),
        has_redacted_cookies: cookies.len() < set.len().min(crate::cookie::MAX_SCORED_COOKIES),
        is_truncated: is_truncated || set.len() > crate::cookie::MAX_SCORED_COOKIES,
        cookies,
        get_params,
        content_type: page
            .headers
            .get("content-type")
            .and_then(|values| values.first())
            .cloned()
            .unwrap_or_default(),
        ..AttackSurface::default()
    }
}

/// Whether a body of that type is shown as markup. Without a type browsers guess, so it counts as
/// markup.
fn is_markup(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    essence.is_empty() || essence.contains("html") || essence.contains("xml") || !essence.contains('/')
}

/// The body in an encoding that extends ASCII, and whether its offsets are those of the body.
fn transcode<'a>(body: &'a [u8], content_type: &str) -> (Cow<'a, [u8]>, bool) {
    let start = &body[..body.len().min(MAX_ENCODING_BYTES)];
    let encoding = varve_page::charset::of_start(start, Some(content_type));
    match encoding.is_ascii_compatible() {
        true => (Cow::Borrowed(body), true),
        false => (Cow::Owned(encoding.decode(body).0.into_owned().into_bytes()), false),
    }
}

/// The state of scanning one body.
struct SurfaceScan<'a> {
    body: &'a [u8],
    has_bytes: bool,
    limits: &'a ScoreLimits,
    /// The address of the page, the base of its references, and its site. `None` if the address is
    /// no URL.
    page: Option<Url>,
    base: Option<Url>,
    site: Option<String>,
    has_base: bool,
    is_encrypted: bool,
    /// The offset up to which lines are counted, and their number.
    counted: (usize, usize),
    /// The number of inputs of the open form, if there is one.
    open_form: Option<usize>,
    surface: AttackSurface,
}

impl<'a> SurfaceScan<'a> {
    fn new(
        url: &str,
        body: &'a [u8],
        has_bytes: bool,
        limits: &'a ScoreLimits,
        surface: AttackSurface,
    ) -> Self {
        let base = Url::parse(url).ok();
        let site = base.as_ref().and_then(site_of);
        let is_encrypted = base.as_ref().is_some_and(|base| base.scheme() == "https");
        Self {
            body,
            has_bytes,
            limits,
            page: base.clone(),
            base,
            site,
            has_base: false,
            is_encrypted,
            counted: (0, 1),
            open_form: None,
            surface,
        }
    }

    /// Takes a tag.
    fn take(&mut self, tag: &ScoredTag<'_>) {
        if tag.is_end {
            if tag.is("form") {
                self.open_form = None;
            }
            return;
        }
        let place = self.place(tag);
        let name = tag.name.to_ascii_lowercase();
        match name.as_slice() {
            b"base" => self.take_base(tag, &place),
            b"form" => self.take_form(tag, &place),
            b"input" | b"textarea" | b"select" => self.take_input(tag, &place, name == b"input"),
            b"script" => self.take_script(tag, &place),
            b"iframe" | b"frame" => self.take_frame(tag, &place),
            b"link" => self.take_style(tag, &place),
            b"object" => self.take_insecure(tag, "data", true, &place),
            b"embed" => self.take_insecure(tag, "src", true, &place),
            b"img" | b"audio" | b"video" | b"source" | b"track" => {
                self.take_insecure(tag, "src", false, &place)
            }
            _ => {}
        }
        self.take_handlers(tag, &place);
        self.take_reaches(reach::of_tag(tag), &place);
    }

    /// The place of a tag. Tags come in order, so lines are counted once.
    fn place(&mut self, tag: &ScoredTag<'_>) -> ElementPlace {
        let first = self.line_at(tag.bytes.start);
        let last = self.line_at(tag.bytes.end.saturating_sub(1));
        let bytes = self.has_bytes.then(|| tag.bytes.clone());
        ElementPlace { bytes, lines: (first, last), selector: None, start: tag.bytes.start }
    }

    fn line_at(&mut self, offset: usize) -> usize {
        let (from, line) = self.counted;
        let between = self.body.get(from..offset).unwrap_or_default();
        self.counted = (offset.max(from), line + memchr::memchr_iter(b'\n', between).count());
        self.counted.1
    }

    /// Whether the limit allows one more; else marks the surface as truncated.
    fn fits(&mut self, count: usize) -> bool {
        let fits = count < self.limits.elements;
        self.surface.is_truncated |= !fits;
        fits
    }

    /// Only the first `base` with an address counts.
    fn take_base(&mut self, tag: &ScoredTag<'_>, place: &ElementPlace) {
        let Some(href) = tag.attribute("href").filter(|_| !self.has_base) else { return };
        self.has_base = true;
        let descriptor = format!("base{}", attribute_selector("href", href.trim()));
        let found = FoundOutbound { kind: OutboundKind::Base, target: href.trim().to_owned(), descriptor };
        self.take_reaches(vec![found], place);
        self.base = self.resolve(href.trim()).or_else(|| self.base.take());
    }

    fn take_form(&mut self, tag: &ScoredTag<'_>, place: &ElementPlace) {
        if self.open_form.is_some() || !self.fits(self.surface.forms.len()) {
            return;
        }
        let action = tag.attribute("action").unwrap_or_default().trim().to_owned();
        let method = tag.attribute("method").unwrap_or_default().trim().to_ascii_uppercase();
        // Without an action a form sends to its page, independently of the base.
        let target = if action.is_empty() { self.page.clone() } else { self.resolve(&action) };
        self.open_form = Some(0);
        self.surface.forms.push(PageForm {
            is_insecure: self.is_insecure(target.as_ref()),
            is_third_party: self.is_third_party(target.as_ref()),
            target: target.map_or_else(|| action.clone(), |target| target.to_string()),
            action,
            method: if method.is_empty() { "GET".to_owned() } else { method },
            inputs: Vec::new(),
            dom_index: self.surface.forms.len(),
            dom_id: tag.attribute("id").unwrap_or_default(),
            dom_classes: classes(tag),
            place: place.clone(),
        });
    }

    fn take_input(&mut self, tag: &ScoredTag<'_>, place: &ElementPlace, has_type: bool) {
        let Some(index) = self.open_form else { return };
        self.open_form = Some(index + 1);
        let name = tag.attribute("name").unwrap_or_default();
        if name.is_empty() || !self.fits(self.surface.post_params.len()) {
            return;
        }
        let kind = if has_type {
            tag.attribute("type").unwrap_or_default().trim().to_ascii_lowercase()
        } else {
            String::new()
        };
        let input = FormInput {
            name: name.clone(),
            kind: if kind.is_empty() { "text".to_owned() } else { kind },
            required: tag.has("required"),
            dom_index: index,
            dom_id: tag.attribute("id").unwrap_or_default(),
            dom_classes: classes(tag),
            place: place.clone(),
        };
        if let Some(form) = self.surface.forms.last_mut() {
            form.inputs.push(input);
        }
        let parameter = RequestParameter { name, origin: "form".to_owned(), place: place.clone() };
        self.surface.post_params.push(parameter);
    }

    fn take_script(&mut self, tag: &ScoredTag<'_>, place: &ElementPlace) {
        if !self.fits(self.surface.scripts.len()) {
            return;
        }
        let src = tag.attribute("src").unwrap_or_default().trim().to_owned();
        let hrefs = ["href", "xlink:href"].into_iter().filter(|_| tag.is_foreign && src.is_empty());
        let attribute = hrefs.into_iter().find(|name| tag.has(name)).unwrap_or("src");
        let address = tag.attribute(attribute).unwrap_or_default().trim().to_owned();
        let target = self.resolve(&address);
        let inside = self.body.get(tag.inside.clone()).unwrap_or_default();
        if src.is_empty() {
            self.take_reaches(reach::of_script(tag, inside), place);
        }
        self.surface.scripts.push(PageScript {
            inline: src.is_empty(),
            dom_index: self.surface.scripts.len(),
            third_party: !address.is_empty() && self.is_third_party(target.as_ref()),
            integrity: tag.has("integrity"),
            svg_href: if attribute == "src" { String::new() } else { address },
            src,
            place: place.clone(),
        });
        self.take_insecure(tag, attribute, true, place);
    }

    /// Adds outbound elements.
    fn take_reaches(&mut self, found: Vec<FoundOutbound>, place: &ElementPlace) {
        for way in found {
            if !self.fits(self.surface.elements.outbound.len()) {
                return;
            }
            let target = self.resolve(&way.target).filter(|_| way.kind != OutboundKind::ScriptLink);
            let (is_foreign, is_insecure) =
                (self.is_third_party(target.as_ref()), self.is_insecure(target.as_ref()));
            let target = target.map(|target| target.to_string());
            self.surface.elements.outbound.push(way.at(target, is_foreign, is_insecure, place.clone()));
        }
    }

    fn take_frame(&mut self, tag: &ScoredTag<'_>, place: &ElementPlace) {
        if !self.fits(self.surface.frames.len()) {
            return;
        }
        let src = tag.attribute("src").unwrap_or_default().trim().to_owned();
        let target = self.resolve(&src);
        self.surface.frames.push(PageFrame {
            dom_index: self.surface.frames.len(),
            third_party: !src.is_empty() && self.is_third_party(target.as_ref()),
            sandbox: tag.has("sandbox"),
            src,
            place: place.clone(),
        });
        self.take_insecure(tag, "src", true, place);
    }

    fn take_style(&mut self, tag: &ScoredTag<'_>, place: &ElementPlace) {
        let rel = tag.attribute("rel").unwrap_or_default().to_ascii_lowercase();
        if rel.split_ascii_whitespace().any(|word| word == "stylesheet") {
            self.take_insecure(tag, "href", true, place);
        }
    }

    /// Adds an element of an HTTPS page that loads over HTTP.
    fn take_insecure(&mut self, tag: &ScoredTag<'_>, attribute: &str, is_active: bool, place: &ElementPlace) {
        let Some(value) = tag.attribute(attribute).filter(|value| !value.trim().is_empty()) else { return };
        let target = self.resolve(value.trim());
        if self.is_insecure(target.as_ref()) && self.fits(self.surface.elements.insecure.len()) {
            let name = String::from_utf8_lossy(tag.name).to_ascii_lowercase();
            let descriptor = name + &attribute_selector(attribute, &value);
            self.surface.elements.insecure.push(InsecureElement {
                is_active,
                descriptor,
                place: place.clone(),
            });
        }
    }

    /// Adds inline handlers.
    fn take_handlers(&mut self, tag: &ScoredTag<'_>, place: &ElementPlace) {
        let is_handler = |name: &[u8]| {
            name.len() > 4
                && name[..2].eq_ignore_ascii_case(b"on")
                && name.iter().all(u8::is_ascii_alphabetic)
        };
        let handlers: Vec<_> = tag.attributes.iter().filter(|(name, _)| is_handler(name)).collect();
        let Some((name, _)) = handlers.first() else { return };
        if self.fits(self.surface.elements.handlers.len()) {
            let element = String::from_utf8_lossy(crate::tokens::beginning(tag.name)).to_ascii_lowercase();
            let attribute = String::from_utf8_lossy(crate::tokens::beginning(name)).to_ascii_lowercase();
            let code: Vec<String> = handlers.iter().map(|(_, value)| crate::text::decode(value)).collect();
            self.surface.elements.handlers.push(InlineHandler {
                descriptor: format!("{element}[{attribute}]"),
                code: code.join("; "),
                place: place.clone(),
            });
        }
    }

    fn resolve(&self, reference: &str) -> Option<Url> {
        Url::options().base_url(self.base.as_ref()).parse(reference).ok()
    }

    fn is_insecure(&self, target: Option<&Url>) -> bool {
        self.is_encrypted && target.is_some_and(|target| target.scheme() == "http")
    }

    fn is_third_party(&self, target: Option<&Url>) -> bool {
        let theirs = target.and_then(site_of);
        theirs.is_some() && self.site.is_some() && theirs != self.site
    }
}

/// The site of an address: the registered domain, or the IP address.
fn site_of(url: &Url) -> Option<String> {
    match url.host()? {
        Host::Domain(domain) => Some(psl::domain_str(domain).unwrap_or(domain).to_owned()),
        address => Some(address.to_string()),
    }
}

/// The first classes of an element.
fn classes(tag: &ScoredTag<'_>) -> Vec<String> {
    let value = tag.attribute("class").unwrap_or_default();
    value.split_ascii_whitespace().take(32).map(str::to_owned).collect()
}
