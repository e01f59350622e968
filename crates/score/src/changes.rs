//! The changes of the attack surface between two versions of a page.
//!
//! Owns the comparison of two [surfaces](AttackSurface). Forms are compared by action and method,
//! or as [pairs](crate::form_pairs) if those changed; inputs by form and name; cookies and headers
//! by name; scripts, frames and outbound elements by address; inline handlers by code. A protecting
//! header that was removed or protects less is a regression. Inputs of a new form are reported as
//! those of an existing one.

use crate::change_kind::{public_kind, reach_change, severity};
use crate::detectors::{form_location, form_rule, input_location, input_rule, reach_location};
use crate::evidence::{EvidenceLocation, LocationKind};
use crate::form_pairs::{forms_by_key, pair_moved};
use crate::policy::{self, CSP_HEADER, HSTS_HEADER};
use crate::rule_id::{ChangeKind, ExposureSeverity, RuleId};
use crate::rule_pack::RulePack;
use crate::sentence::{fill_change, printable};
use crate::surface::{
    AttackSurface, FormInput, OutboundElement, OutboundKind, PageCookie, PageForm, PageFrame, PageScript,
};
use serde::Serialize;
use std::collections::BTreeMap;
use varve_core::headers::{HeaderView, REDACTED_VALUE, Redaction, is_benign};

/// A change of the attack surface.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SurfaceChange {
    /// The kind of change in a security diff.
    pub kind: &'static str,
    /// A sentence about it.
    pub detail: String,
    /// The place in the head, or in the base if it was removed.
    #[serde(rename = "evidence_locations", skip_serializing_if = "Vec::is_empty")]
    pub locations: Vec<EvidenceLocation>,
    /// Its category.
    pub category: String,
    /// Its weight.
    pub score: f64,
    /// Its severity, by category.
    pub severity: ExposureSeverity,
    /// The rule of the pack.
    pub rule: ChangeKind,
}

/// The order of changes in a report.
const CHANGE_ORDER: [&str; 25] = [
    "form_added",
    "form_changed",
    "form_removed",
    "input_added",
    "input_changed",
    "input_removed",
    "cookie_added",
    "cookie_httponly_removed",
    "cookie_secure_removed",
    "cookie_samesite_weakened",
    "cookie_removed",
    "script_added",
    "script_removed",
    "frame_added",
    "frame_removed",
    "base_changed",
    "submitter_added",
    "embed_added",
    "refresh_added",
    "module_added",
    "handler_added",
    "script_link_added",
    "header_added",
    "header_removed",
    "header_changed",
];

/// The order of outbound elements in a report.
const REACH_ORDER: [OutboundKind; 6] = [
    OutboundKind::Base,
    OutboundKind::Submitter,
    OutboundKind::Embed,
    OutboundKind::Refresh,
    OutboundKind::Module,
    OutboundKind::ScriptLink,
];

/// The parts of two pages that can be compared.
#[derive(Clone, Copy)]
pub(crate) struct ComparedParts {
    /// The bodies: both are known.
    pub(crate) bodies: bool,
    /// The headers: both are those of a full response.
    pub(crate) headers: bool,
}

/// The changes of forms, inputs, cookies, scripts, frames and headers, each kind in the order of
/// names or of the page.
pub(crate) fn changes(
    pack: &RulePack,
    base: &AttackSurface,
    head: &AttackSurface,
    compared: ComparedParts,
) -> Vec<SurfaceChange> {
    let mut list = SurfaceChangeList { pack, base, head, changes: Vec::new() };
    if compared.bodies {
        list.forms(base, head);
        list.scripts(base, head);
        list.frames(base, head);
        list.reaches(base, head);
    }
    // Redacted cookies cannot be compared.
    if !base.has_redacted_cookies && !head.has_redacted_cookies {
        list.cookies(base, head);
    }
    if compared.headers {
        list.headers(base, head);
    }
    list.changes.sort_by_key(|change| CHANGE_ORDER.iter().position(|kind| *kind == change.kind));
    list.changes
}

/// Collects changes.
struct SurfaceChangeList<'a> {
    pack: &'a RulePack,
    base: &'a AttackSurface,
    head: &'a AttackSurface,
    changes: Vec<SurfaceChange>,
}

impl SurfaceChangeList<'_> {
    /// Adds a change of the head.
    fn add(&mut self, rule: ChangeKind, what: &str, location: EvidenceLocation) {
        let head = self.head;
        self.push(public_kind(rule), rule, what, location, head);
    }

    /// Adds a change of the base: a removal.
    fn add_gone(&mut self, kind: &'static str, rule: ChangeKind, what: &str, location: EvidenceLocation) {
        let base = self.base;
        self.push(kind, rule, what, location, base);
    }

    /// Adds a change, if the pack has it.
    fn push(
        &mut self,
        kind: &'static str,
        rule: ChangeKind,
        what: &str,
        location: EvidenceLocation,
        side: &AttackSurface,
    ) {
        let Some(known) = self.pack.change(rule) else { return };
        self.changes.push(SurfaceChange {
            kind,
            detail: fill_change(&known.sentence, what),
            locations: vec![EvidenceLocation { snapshot_id: side.snapshot_id.clone(), ..location }],
            category: known.category.clone(),
            score: known.points,
            severity: severity(rule, &known.category),
            rule,
        });
    }

    fn forms(&mut self, base: &AttackSurface, head: &AttackSurface) {
        let (old, new) = (forms_by_key(base), forms_by_key(head));
        let gone =
            old.iter().filter(|(key, _)| !new.contains_key(*key)).filter_map(|(_, forms)| forms.first());
        let came =
            new.iter().filter(|(key, _)| !old.contains_key(*key)).filter_map(|(_, forms)| forms.first());
        let pairs = pair_moved(&gone.copied().collect::<Vec<_>>(), &came.copied().collect::<Vec<_>>());
        for form in &pairs.came {
            self.add(self.form_kind(form), &told(form), form_location(form));
            self.inputs(&[], new.get(&form.key()).map_or(&[][..], Vec::as_slice));
        }
        for form in &pairs.gone {
            self.add_gone("form_removed", ChangeKind::FormRemoved, &told(form), form_location(form));
        }
        for (was, is) in pairs.moved {
            self.form_target(was, is);
            self.inputs(&old[&was.key()], &new[&is.key()]);
        }
        for (key, forms) in &new {
            let Some(before) = old.get(key) else { continue };
            // The same action has another target if the base of the page changed.
            for (was, is) in before.iter().zip(forms) {
                if (is.is_third_party && !was.is_third_party) || (is.is_insecure && !was.is_insecure) {
                    self.form_target(was, is);
                }
            }
            self.inputs(before, forms);
            for form in forms.iter().skip(before.len()) {
                self.add(self.form_kind(form), &told(form), form_location(form));
            }
            for form in before.iter().skip(forms.len()) {
                self.add_gone("form_removed", ChangeKind::FormRemoved, &told(form), form_location(form));
            }
        }
    }

    /// The kind of change of a new form.
    fn form_kind(&self, form: &PageForm) -> ChangeKind {
        match form_rule(self.pack, form) {
            _ if form.is_third_party => ChangeKind::ThirdPartyFormAdded,
            RuleId::FormAdmin => ChangeKind::AdminFormAdded,
            RuleId::FormAuth => ChangeKind::AuthFormAdded,
            RuleId::FormUpload => ChangeKind::UploadFormAdded,
            _ => ChangeKind::FormAdded,
        }
    }

    /// Reports the new target of a form, if it changed.
    fn form_target(&mut self, was: &PageForm, is: &PageForm) {
        if (&was.target, &was.method) == (&is.target, &is.method) {
            return;
        }
        let kind = match () {
            () if is.is_third_party && was.target != is.target => ChangeKind::FormSentAway,
            () if is.is_insecure && !was.is_insecure => ChangeKind::FormSentUnencrypted,
            () => ChangeKind::FormTargetChanged,
        };
        let sends = |form: &PageForm| format!("{} {}", form.method, printable(&form.target));
        let what = format!("{}, {} before, {} now", printable(&told(is)), sends(was), sends(is));
        self.add(kind, &what, form_location(is));
    }

    /// Compares the inputs of forms with the same key.
    fn inputs(&mut self, base: &[&PageForm], head: &[&PageForm]) {
        let (old, new) = (inputs_by_name(base), inputs_by_name(head));
        for (name, (form, input)) in &new {
            let what = input.place.told(&form.input_descriptor(input));
            match old.get(name) {
                None => self.add(input_kind(input), &what, input_location(form, input)),
                Some((_, was)) if (&was.kind, was.required) != (&input.kind, input.required) => {
                    let what = format!("{what}, {} to {}", describe(was), describe(input));
                    self.add(ChangeKind::InputChanged, &what, input_location(form, input));
                }
                Some(_) => {}
            }
        }
        for (form, input) in old.iter().filter(|(name, _)| !new.contains_key(*name)).map(|(_, found)| found) {
            self.add_gone(
                "input_removed",
                ChangeKind::InputRemoved,
                &input.place.told(&form.input_descriptor(input)),
                input_location(form, input),
            );
        }
    }

    fn cookies(&mut self, base: &AttackSurface, head: &AttackSurface) {
        let by_name = |surface: &'_ AttackSurface| -> BTreeMap<String, PageCookie> {
            surface.cookies.iter().map(|cookie| (cookie.name.clone(), cookie.clone())).collect()
        };
        let (old, new) = (by_name(base), by_name(head));
        for (name, cookie) in &new {
            match old.get(name) {
                Some(was) => self.cookie_flags(was, cookie),
                None if cookie.http_only && cookie.secure => {
                    self.add(ChangeKind::CookieAdded, name, EvidenceLocation::cookie(name));
                }
                None => self.add(ChangeKind::WeakCookieAdded, name, EvidenceLocation::cookie(name)),
            }
        }
        for name in old.keys().filter(|name| !new.contains_key(*name)) {
            self.add_gone("cookie_removed", ChangeKind::CookieRemoved, name, EvidenceLocation::cookie(name));
        }
    }

    fn cookie_flags(&mut self, was: &PageCookie, is: &PageCookie) {
        let lost = [
            (was.http_only && !is.http_only, ChangeKind::CookieHttpOnlyRemoved),
            (was.secure && !is.secure, ChangeKind::CookieSecureRemoved),
            (same_site_rank(was) > same_site_rank(is), ChangeKind::CookieSameSiteWeakened),
        ];
        for (_, kind) in lost.into_iter().filter(|(is_so, _)| *is_so) {
            self.add(kind, &is.name, EvidenceLocation::cookie(&is.name));
        }
    }

    fn scripts(&mut self, base: &AttackSurface, head: &AttackSurface) {
        let told = |script: &PageScript| script.place.told(&script.descriptor());
        let location = |script: &PageScript| {
            EvidenceLocation::element(LocationKind::Script, script.descriptor(), &script.place)
                .numbered(script.dom_index)
        };
        for script in surplus(&head.scripts, &base.scripts, |script| script.address()) {
            let kind =
                if script.third_party { ChangeKind::ThirdPartyScriptAdded } else { ChangeKind::ScriptAdded };
            self.add(kind, &told(script), location(script));
        }
        for script in surplus(&base.scripts, &head.scripts, |script| script.address()) {
            self.add_gone("script_removed", ChangeKind::ScriptRemoved, &told(script), location(script));
        }
        for handler in surplus(&head.elements.handlers, &base.elements.handlers, |handler| &handler.code) {
            let what = format!("{}, `{}`", handler.place.told(&handler.descriptor), printable(&handler.code));
            let name = handler.descriptor.clone();
            self.add(
                ChangeKind::HandlerAdded,
                &what,
                EvidenceLocation::element(LocationKind::Element, name, &handler.place),
            );
        }
    }

    fn frames(&mut self, base: &AttackSurface, head: &AttackSurface) {
        let told = |frame: &PageFrame| frame.place.told(&frame.descriptor());
        let location = |frame: &PageFrame| {
            EvidenceLocation::element(LocationKind::Frame, frame.descriptor(), &frame.place)
                .numbered(frame.dom_index)
        };
        for frame in surplus(&head.frames, &base.frames, |frame| &frame.src) {
            let kind =
                if frame.third_party { ChangeKind::ThirdPartyFrameAdded } else { ChangeKind::FrameAdded };
            self.add(kind, &told(frame), location(frame));
        }
        for frame in surplus(&base.frames, &head.frames, |frame| &frame.src) {
            self.add_gone("frame_removed", ChangeKind::FrameRemoved, &told(frame), location(frame));
        }
    }

    /// New outbound elements. Elements of one kind and target are counted, as scripts are.
    fn reaches(&mut self, base: &AttackSurface, head: &AttackSurface) {
        for kind in REACH_ORDER {
            let of_kind = |surface: &AttackSurface| -> Vec<OutboundElement> {
                surface.elements.outbound.iter().filter(|reach| reach.kind == kind).cloned().collect()
            };
            let (old, new) = (of_kind(base), of_kind(head));
            for reach in surplus(&new, &old, |reach| &reach.target) {
                let Some(change) = reach_change(reach) else { continue };
                let element = reach.place.told(&reach.descriptor);
                let is_said = element.contains(&reach.target);
                let what = if is_said { element } else { format!("{}, {element}", printable(&reach.target)) };
                self.add(change, &what, reach_location(reach));
            }
        }
    }

    fn headers(&mut self, base: &AttackSurface, head: &AttackSurface) {
        let (old, new) = (view(base), view(head));
        let is_told = |name: &str| !is_benign(name) && name != "set-cookie";
        for (name, values) in new.iter().filter(|(name, _)| is_told(name)) {
            match old.get(name) {
                None => self.add(ChangeKind::HeaderAdded, name, EvidenceLocation::header(name, None)),
                Some(was) if was != values && is_protecting(self.pack, name) => {
                    let kind = match is_weaker(self.pack, name, &old, &new) {
                        true => weakened(name),
                        false => ChangeKind::HeaderChanged,
                    };
                    let what = before_and_now(kind, name, was, Some(values));
                    self.add(kind, &what, EvidenceLocation::header(name, None));
                }
                Some(_) => {}
            }
        }
        for (name, was) in old.iter().filter(|(name, _)| is_told(name) && new.get(name).is_none()) {
            let (kind, what) = match is_weaker(self.pack, name, &old, &new) {
                true => (weakened(name), before_and_now(weakened(name), name, was, None)),
                false => (ChangeKind::HeaderRemoved, name.to_owned()),
            };
            self.add_gone("header_removed", kind, &what, EvidenceLocation::header(name, None));
        }
    }
}

/// The old and the new value of a header, after its name if the sentence does not have it.
fn before_and_now(kind: ChangeKind, name: &str, was: &[String], is: Option<&[String]>) -> String {
    let said = |values: &[String]| format!("`{}`", printable(&values.join(", ")));
    let is_named =
        matches!(kind, ChangeKind::CspWeakened | ChangeKind::HstsWeakened | ChangeKind::XfoWeakened);
    let name = if is_named { String::new() } else { format!("{name}, ") };
    format!("{name}{} before, {} now", said(was), is.map_or_else(|| "nothing".to_owned(), said))
}

/// The name of a form in sentences.
fn told(form: &PageForm) -> String {
    form.place.told(&form.descriptor())
}

/// Inputs by name; of equal names the first.
fn inputs_by_name<'a>(forms: &[&'a PageForm]) -> BTreeMap<&'a str, (&'a PageForm, &'a FormInput)> {
    let mut found = BTreeMap::new();
    for form in forms {
        for input in &form.inputs {
            found.entry(input.name.as_str()).or_insert((*form, input));
        }
    }
    found
}

/// The kind of change of a new input.
fn input_kind(input: &FormInput) -> ChangeKind {
    match input_rule(input) {
        RuleId::InputFile => ChangeKind::FileInputAdded,
        RuleId::InputPassword => ChangeKind::PasswordInputAdded,
        _ => ChangeKind::InputAdded,
    }
}

/// The type of an input, and whether it is required.
fn describe(input: &FormInput) -> String {
    let required = if input.required { " required" } else { "" };
    format!("{}{required}", input.kind)
}

/// How strict `SameSite` is.
fn same_site_rank(cookie: &PageCookie) -> u8 {
    match cookie.same_site.to_ascii_lowercase().as_str() {
        "strict" => 3,
        "lax" => 2,
        "none" => 1,
        _ => 0,
    }
}

/// The items that a list has more often than the other, the last of equal ones.
fn surplus<'a, T>(list: &'a [T], other: &[T], key: fn(&T) -> &String) -> Vec<&'a T> {
    let mut left: BTreeMap<&str, usize> = BTreeMap::new();
    for item in other {
        *left.entry(key(item)).or_default() += 1;
    }
    let is_surplus = |item: &&T| match left.get_mut(key(item).as_str()) {
        Some(count) if *count > 0 => {
            *count -= 1;
            false
        }
        _ => true,
    };
    list.iter().filter(is_surplus).collect()
}

/// The headers of a surface without redacted ones.
fn view(surface: &AttackSurface) -> HeaderView {
    let pairs =
        surface.headers.iter().flat_map(|(name, values)| values.iter().map(move |value| (name, value)));
    HeaderView::from_pairs(pairs.filter(|(_, value)| value.as_str() != REDACTED_VALUE), Redaction::Off)
}

/// Whether a header protects.
fn is_protecting(pack: &RulePack, name: &str) -> bool {
    name == CSP_HEADER || name == "x-xss-protection" || pack.headers.iter().any(|header| header.name == name)
}

/// The kind of change of a weakened header.
fn weakened(name: &str) -> ChangeKind {
    match name {
        CSP_HEADER => ChangeKind::CspWeakened,
        HSTS_HEADER => ChangeKind::HstsWeakened,
        "x-frame-options" => ChangeKind::XfoWeakened,
        _ => ChangeKind::ProtectionWeakened,
    }
}

/// Whether a header protects less in the head: it was removed, a directive of the policy earns
/// less, the protection is shorter or narrower, or there is a new weakness.
fn is_weaker(pack: &RulePack, name: &str, old: &HeaderView, new: &HeaderView) -> bool {
    if name == HSTS_HEADER {
        let ((age, wide), (age_before, wide_before)) = (policy::transport(new), policy::transport(old));
        return age < age_before || (wide_before && !wide);
    }
    if new.get(name).is_none() {
        return is_protecting(pack, name);
    }
    let flaws = |view: &HeaderView| -> Vec<_> {
        policy::weaknesses(view)
            .into_iter()
            .filter(|(_, header, _)| *header == name)
            .map(|(rule, ..)| rule)
            .collect()
    };
    let earned = |view: &HeaderView| -> BTreeMap<Option<String>, f64> {
        let credits = policy::earned(pack, view).into_iter().filter(|credit| credit.header == name);
        credits.map(|credit| (credit.directive, credit.points)).collect()
    };
    let (was, is) = (earned(old), earned(new));
    let earns_less = was.iter().any(|(key, points)| is.get(key).copied().unwrap_or_default() < points - 1e-9);
    let known = flaws(old);
    earns_less || flaws(new).iter().any(|flaw| !known.contains(flaw))
}
