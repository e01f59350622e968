//! The detectors: the findings of each rule in an attack surface, and their sum.
//!
//! Weights and words are in the pack. The order of evidence is fixed: forms, inputs, cookies,
//! missing headers, rules with many places, and rules without points.

use crate::evidence::{EvidenceLocation, ExposureEvidence, LocationKind, MAX_EVIDENCE_LOCATIONS};
use crate::policy::{self, CSP_HEADER, HardeningCredit};
use crate::rule_id::RuleId;
use crate::rule_pack::RulePack;
use crate::surface::{
    AttackSurface, FormInput, OutboundElement, OutboundKind, PageCookie, PageForm, RequestParameter,
};
use varve_core::headers::HeaderView;

/// The evidence and its sums.
pub(crate) struct Measured {
    pub(crate) evidence: Vec<ExposureEvidence>,
    pub(crate) exposure: f64,
    pub(crate) hardening: f64,
    pub(crate) credits: Vec<HardeningCredit>,
}

/// Runs every rule of the pack.
pub(crate) fn measure(pack: &RulePack, surface: &AttackSurface, headers: &HeaderView) -> Measured {
    let credits = policy::credits(pack, headers);
    let mut ledger = Ledger { pack, evidence: Vec::new() };
    ledger.forms(surface);
    ledger.inputs(surface);
    ledger.cookies(surface);
    ledger.missing_headers(headers);
    ledger.crowds(surface);
    ledger.elements(surface);
    ledger.weak_headers(headers);
    ledger.reaches(surface);
    let exposure = ledger.evidence.iter().fold(0.0, |sum, evidence| sum + evidence.exposure);
    let hardening = policy::hardening(&credits);
    ledger.weigh_missing(exposure, hardening);
    Measured { evidence: ledger.evidence, exposure, hardening, credits }
}

/// The rule for a form, by the words in its action.
pub(crate) fn form_rule(pack: &RulePack, form: &PageForm) -> RuleId {
    let action = form.action.to_lowercase();
    let speaks_of = |words: &[String]| words.iter().any(|word| action.contains(word.as_str()));
    match () {
        () if speaks_of(&pack.words.admin) => RuleId::FormAdmin,
        () if speaks_of(&pack.words.auth) => RuleId::FormAuth,
        () if speaks_of(&pack.words.upload) => RuleId::FormUpload,
        () => RuleId::Form,
    }
}

/// The rule for an input, by its type.
pub(crate) fn input_rule(input: &FormInput) -> RuleId {
    match input.kind.as_str() {
        "file" => RuleId::InputFile,
        "password" => RuleId::InputPassword,
        "hidden" => RuleId::InputHidden,
        _ => RuleId::Input,
    }
}

/// The place of a form.
pub(crate) fn form_location(form: &PageForm) -> EvidenceLocation {
    EvidenceLocation::element(LocationKind::Form, form.descriptor(), &form.place).numbered(form.dom_index)
}

/// The place and the target of an outbound element.
pub(crate) fn reach_location(reach: &OutboundElement) -> EvidenceLocation {
    let location = EvidenceLocation::element(LocationKind::Element, reach.descriptor.clone(), &reach.place);
    EvidenceLocation { note: Some(reach.target.clone()), ..location }
}

/// The place of an input.
pub(crate) fn input_location(form: &PageForm, input: &FormInput) -> EvidenceLocation {
    let location = EvidenceLocation::element(LocationKind::Input, form.input_descriptor(input), &input.place);
    EvidenceLocation { parent_dom_index: Some(form.dom_index), ..location.numbered(input.dom_index) }
}

/// Whether a name has one of the words in it.
fn has_word(name: &str, words: &[String]) -> bool {
    let name = name.to_lowercase();
    words.iter().any(|word| name.contains(word.as_str()))
}

/// The place of a parameter.
fn parameter_location(parameter: &RequestParameter) -> EvidenceLocation {
    let location = EvidenceLocation::element(LocationKind::Param, String::new(), &parameter.place);
    EvidenceLocation { selector: None, param_name: Some(parameter.name.clone()), ..location }
}

/// Collects evidence.
struct Ledger<'a> {
    pack: &'a RulePack,
    evidence: Vec<ExposureEvidence>,
}

impl Ledger<'_> {
    /// Adds findings of a rule as one piece of evidence, of which at most `counted` add points.
    /// Adds nothing if there are none, or if the pack does not have the rule.
    fn group(
        &mut self,
        id: RuleId,
        locations: impl Iterator<Item = EvidenceLocation>,
        counted: Option<usize>,
    ) {
        let Some(rule) = self.pack.rule(id) else { return };
        let mut count = 0;
        let mut kept = Vec::new();
        for location in locations {
            count += 1;
            if kept.len() < MAX_EVIDENCE_LOCATIONS {
                kept.push(location);
            }
        }
        if count == 0 {
            return;
        }
        let exposure = rule.points * count.min(counted.unwrap_or(count)) as f64;
        self.evidence.push(ExposureEvidence {
            key: id,
            rule_id: id,
            severity: rule.severity,
            category: rule.category,
            description: rule.title.clone(),
            count,
            locations: kept,
            contribution: exposure,
            exposure,
        });
    }

    /// Adds a single finding.
    fn single(&mut self, id: RuleId, location: EvidenceLocation) {
        self.group(id, std::iter::once(location), None);
    }

    fn forms(&mut self, surface: &AttackSurface) {
        for form in &surface.forms {
            self.single(form_rule(self.pack, form), form_location(form));
        }
    }

    fn inputs(&mut self, surface: &AttackSurface) {
        for (form, input) in inputs(surface) {
            let rule = input_rule(input);
            if matches!(rule, RuleId::InputFile | RuleId::InputPassword) {
                self.single(rule, input_location(form, input));
            }
        }
    }

    fn cookies(&mut self, surface: &AttackSurface) {
        for cookie in &surface.cookies {
            let is_session = has_word(&cookie.name, &self.pack.words.session);
            let flaws = [
                (is_session && !cookie.http_only, RuleId::SessionCookieNoHttpOnly),
                (is_session && cookie.http_only, RuleId::SessionCookie),
                (!cookie.http_only, RuleId::CookieNoHttpOnly),
                (!cookie.secure, RuleId::CookieNoSecure),
            ];
            for (_, rule) in flaws.into_iter().filter(|(is_so, _)| *is_so) {
                self.single(rule, EvidenceLocation::cookie(&cookie.name));
            }
        }
    }

    fn missing_headers(&mut self, headers: &HeaderView) {
        if headers.get(CSP_HEADER).is_none() {
            self.single(RuleId::CspMissing, EvidenceLocation::header(CSP_HEADER, None));
        }
        for header in &self.pack.headers {
            if headers.get(&header.name).is_none() {
                self.single(header.missing, EvidenceLocation::header(&header.name, None));
            }
        }
    }

    /// The points that a missing header would take off: its full points, as far as hardening can
    /// still grow.
    fn weigh_missing(&mut self, exposure: f64, hardening: f64) {
        for evidence in &mut self.evidence {
            let is_missing = evidence.key == RuleId::CspMissing
                || self.pack.headers.iter().any(|header| header.missing == evidence.key);
            if let (true, Some(header)) = (is_missing, header_of(evidence)) {
                evidence.contribution +=
                    exposure * policy::full_points(self.pack, header).min(1.0 - hardening);
            }
        }
    }

    /// Rules that score by count.
    fn crowds(&mut self, surface: &AttackSurface) {
        let caps = self.pack.saturation;
        for rule in [RuleId::InputHidden, RuleId::Input] {
            let such = inputs(surface).filter(|(_, input)| input_rule(input) == rule);
            self.group(rule, such.map(|(form, input)| input_location(form, input)), None);
        }
        self.cookie_group(RuleId::Cookie, surface, |_| true);
        self.script_group(RuleId::ScriptInline, surface, caps.inline_scripts, |script| {
            script.inline && script.svg_href.is_empty()
        });
        self.script_group(RuleId::ScriptSvg, surface, caps.inline_scripts, |script| {
            !script.svg_href.is_empty()
        });
        self.script_group(RuleId::ScriptExternal, surface, caps.external_scripts, |script| !script.inline);
        let parameters = || surface.get_params.iter().chain(&surface.post_params);
        self.group(RuleId::Parameter, parameters().map(parameter_location), caps.parameters);
        let words = &self.pack.words.suspicious;
        let telling = parameters().filter(|parameter| has_word(&parameter.name, words));
        self.group(RuleId::ParameterSuspicious, telling.map(parameter_location), caps.parameters);
    }

    fn cookie_group(&mut self, rule: RuleId, surface: &AttackSurface, such: fn(&PageCookie) -> bool) {
        let cookies = surface.cookies.iter().filter(|cookie| such(cookie));
        self.group(rule, cookies.map(|cookie| EvidenceLocation::cookie(&cookie.name)), None);
    }

    fn script_group(
        &mut self,
        rule: RuleId,
        surface: &AttackSurface,
        counted: Option<usize>,
        such: fn(&crate::surface::PageScript) -> bool,
    ) {
        let scripts = surface.scripts.iter().filter(|script| such(script));
        let location = |script: &crate::surface::PageScript| {
            EvidenceLocation::element(LocationKind::Script, script.descriptor(), &script.place)
                .numbered(script.dom_index)
        };
        self.group(rule, scripts.map(location), counted);
    }

    /// The other rules.
    fn elements(&mut self, surface: &AttackSurface) {
        self.cookie_group(RuleId::CookieNoSameSite, surface, |cookie| cookie.same_site.is_empty());
        if surface.has_redacted_cookies {
            self.single(RuleId::CookieRedacted, EvidenceLocation::header("set-cookie", None));
        }
        self.script_group(RuleId::ScriptThirdParty, surface, None, |script| script.third_party);
        self.script_group(RuleId::ScriptNoIntegrity, surface, None, |script| {
            script.third_party && !script.integrity
        });
        let handlers = surface.elements.handlers.iter();
        let element =
            |name: &String, place| EvidenceLocation::element(LocationKind::Element, name.clone(), place);
        self.group(
            RuleId::EventHandler,
            handlers.map(|handler| element(&handler.descriptor, &handler.place)),
            None,
        );
        self.frames(surface);
        for (rule, is_active) in [(RuleId::MixedActive, true), (RuleId::MixedPassive, false)] {
            let mixed = surface.elements.insecure.iter().filter(|insecure| insecure.is_active == is_active);
            self.group(rule, mixed.map(|insecure| element(&insecure.descriptor, &insecure.place)), None);
        }
        let insecure = surface.forms.iter().filter(|form| form.is_insecure);
        self.group(RuleId::FormInsecureTarget, insecure.map(form_location), None);
        let foreign = surface.forms.iter().filter(|form| form.is_third_party);
        self.group(RuleId::FormThirdParty, foreign.map(form_location), None);
        let is_plain = surface.url.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("http:"));
        let passwords = inputs(surface).filter(|(_, input)| is_plain && input.kind == "password");
        self.group(
            RuleId::PasswordOverHttp,
            passwords.map(|(form, input)| input_location(form, input)),
            None,
        );
    }

    fn frames(&mut self, surface: &AttackSurface) {
        let location = |frame: &crate::surface::PageFrame| {
            EvidenceLocation::element(LocationKind::Frame, frame.descriptor(), &frame.place)
                .numbered(frame.dom_index)
        };
        self.group(RuleId::Frame, surface.frames.iter().map(location), None);
        let foreign = surface.frames.iter().filter(|frame| frame.third_party && !frame.sandbox);
        self.group(RuleId::FrameThirdParty, foreign.map(location), None);
    }

    /// Outbound elements. Last, so that the numbers of other evidence stay the same.
    fn reaches(&mut self, surface: &AttackSurface) {
        for (rule, kind) in [
            (RuleId::BaseThirdParty, OutboundKind::Base),
            (RuleId::SubmitterThirdParty, OutboundKind::Submitter),
            (RuleId::EmbedThirdParty, OutboundKind::Embed),
            (RuleId::RefreshThirdParty, OutboundKind::Refresh),
            (RuleId::ScriptLink, OutboundKind::ScriptLink),
            (RuleId::ModuleThirdParty, OutboundKind::Module),
        ] {
            let is_such = |reach: &&OutboundElement| {
                reach.kind == kind && (reach.third_party || kind == OutboundKind::ScriptLink)
            };
            let such = surface.elements.outbound.iter().filter(is_such).map(reach_location);
            self.group(rule, such, None);
        }
    }

    fn weak_headers(&mut self, headers: &HeaderView) {
        for (rule, header, what) in policy::weaknesses(headers) {
            self.single(rule, EvidenceLocation::header(header, Some(what)));
        }
    }
}

/// The inputs with their forms, in order.
fn inputs(surface: &AttackSurface) -> impl Iterator<Item = (&PageForm, &FormInput)> {
    surface.forms.iter().flat_map(|form| form.inputs.iter().map(move |input| (form, input)))
}

/// The header of a piece of evidence.
fn header_of(evidence: &ExposureEvidence) -> Option<&str> {
    evidence.locations.first().and_then(|location| location.header_name.as_deref())
}
