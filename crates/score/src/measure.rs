//! The detectors: what each rule finds in a surface, and what it adds up to.
//!
//! Owns which rule looks at what. Weights and words are the pack's. The order of evidence is fixed: forms, inputs,
//! cookies, missing headers, then what comes in crowds, then what is only told.

use crate::evidence::{Evidence, Location, LocationKind, MOST_LOCATIONS};
use crate::pack::Pack;
use crate::policy::{self, CSP, Credit};
use crate::rule::RuleId;
use crate::surface::{Cookie, Form, Input, Parameter, Reach, ReachKind, Surface};
use varve_core::headers::HeaderView;

/// What was found, and what it comes to.
pub(crate) struct Measured {
    pub(crate) evidence: Vec<Evidence>,
    pub(crate) exposure: f64,
    pub(crate) hardening: f64,
    pub(crate) credits: Vec<Credit>,
}

/// Runs every rule of the pack.
pub(crate) fn measure(pack: &Pack, surface: &Surface, headers: &HeaderView) -> Measured {
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

/// The rule for a form, by what its action speaks of.
pub(crate) fn form_rule(pack: &Pack, form: &Form) -> RuleId {
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
pub(crate) fn input_rule(input: &Input) -> RuleId {
    match input.kind.as_str() {
        "file" => RuleId::InputFile,
        "password" => RuleId::InputPassword,
        "hidden" => RuleId::InputHidden,
        _ => RuleId::Input,
    }
}

/// Where a form stands.
pub(crate) fn form_location(form: &Form) -> Location {
    Location::element(LocationKind::Form, form.descriptor(), &form.place).numbered(form.dom_index)
}

/// Where a way out stands, and where it leads.
pub(crate) fn reach_location(reach: &Reach) -> Location {
    let location = Location::element(LocationKind::Element, reach.descriptor.clone(), &reach.place);
    Location { note: Some(reach.target.clone()), ..location }
}

/// Where an input stands.
pub(crate) fn input_location(form: &Form, input: &Input) -> Location {
    let location = Location::element(LocationKind::Input, form.input_descriptor(input), &input.place);
    Location { parent_dom_index: Some(form.dom_index), ..location.numbered(input.dom_index) }
}

/// Whether a name has one of the words in it.
fn has_word(name: &str, words: &[String]) -> bool {
    let name = name.to_lowercase();
    words.iter().any(|word| name.contains(word.as_str()))
}

/// Where a parameter comes from.
fn parameter_location(parameter: &Parameter) -> Location {
    let location = Location::element(LocationKind::Param, String::new(), &parameter.place);
    Location { selector: None, param_name: Some(parameter.name.clone()), ..location }
}

/// Takes down what is found.
struct Ledger<'a> {
    pack: &'a Pack,
    evidence: Vec<Evidence>,
}

impl Ledger<'_> {
    /// Takes down finds of a rule as one piece of evidence, of which at most `counted` add points. Nothing is taken
    /// down if there are none, or if the pack does not have the rule.
    fn group(&mut self, id: RuleId, locations: impl Iterator<Item = Location>, counted: Option<usize>) {
        let Some(rule) = self.pack.rule(id) else { return };
        let mut count = 0;
        let mut kept = Vec::new();
        for location in locations {
            count += 1;
            if kept.len() < MOST_LOCATIONS {
                kept.push(location);
            }
        }
        if count == 0 {
            return;
        }
        let exposure = rule.points * count.min(counted.unwrap_or(count)) as f64;
        self.evidence.push(Evidence {
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

    /// Takes down a single find.
    fn single(&mut self, id: RuleId, location: Location) {
        self.group(id, std::iter::once(location), None);
    }

    fn forms(&mut self, surface: &Surface) {
        for form in &surface.forms {
            self.single(form_rule(self.pack, form), form_location(form));
        }
    }

    fn inputs(&mut self, surface: &Surface) {
        for (form, input) in inputs(surface) {
            let rule = input_rule(input);
            if matches!(rule, RuleId::InputFile | RuleId::InputPassword) {
                self.single(rule, input_location(form, input));
            }
        }
    }

    fn cookies(&mut self, surface: &Surface) {
        for cookie in &surface.cookies {
            let is_session = has_word(&cookie.name, &self.pack.words.session);
            let flaws = [
                (is_session && !cookie.http_only, RuleId::SessionCookieNoHttpOnly),
                (is_session && cookie.http_only, RuleId::SessionCookie),
                (!cookie.http_only, RuleId::CookieNoHttpOnly),
                (!cookie.secure, RuleId::CookieNoSecure),
            ];
            for (_, rule) in flaws.into_iter().filter(|(is_so, _)| *is_so) {
                self.single(rule, Location::cookie(&cookie.name));
            }
        }
    }

    fn missing_headers(&mut self, headers: &HeaderView) {
        if headers.get(CSP).is_none() {
            self.single(RuleId::CspMissing, Location::header(CSP, None));
        }
        for header in &self.pack.headers {
            if headers.get(&header.name).is_none() {
                self.single(header.missing, Location::header(&header.name, None));
            }
        }
    }

    /// What a missing header would take off the score: its full points, as far as hardening can still grow.
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

    /// What scores by its number.
    fn crowds(&mut self, surface: &Surface) {
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

    fn cookie_group(&mut self, rule: RuleId, surface: &Surface, such: fn(&Cookie) -> bool) {
        let cookies = surface.cookies.iter().filter(|cookie| such(cookie));
        self.group(rule, cookies.map(|cookie| Location::cookie(&cookie.name)), None);
    }

    fn script_group(
        &mut self,
        rule: RuleId,
        surface: &Surface,
        counted: Option<usize>,
        such: fn(&crate::surface::Script) -> bool,
    ) {
        let scripts = surface.scripts.iter().filter(|script| such(script));
        let location = |script: &crate::surface::Script| {
            Location::element(LocationKind::Script, script.descriptor(), &script.place)
                .numbered(script.dom_index)
        };
        self.group(rule, scripts.map(location), counted);
    }

    /// What is looked for besides.
    fn elements(&mut self, surface: &Surface) {
        self.cookie_group(RuleId::CookieNoSameSite, surface, |cookie| cookie.same_site.is_empty());
        if surface.has_redacted_cookies {
            self.single(RuleId::CookieRedacted, Location::header("set-cookie", None));
        }
        self.script_group(RuleId::ScriptThirdParty, surface, None, |script| script.third_party);
        self.script_group(RuleId::ScriptNoIntegrity, surface, None, |script| {
            script.third_party && !script.integrity
        });
        let handlers = surface.handlers.iter();
        let element = |name: &String, place| Location::element(LocationKind::Element, name.clone(), place);
        self.group(
            RuleId::EventHandler,
            handlers.map(|handler| element(&handler.descriptor, &handler.place)),
            None,
        );
        self.frames(surface);
        for (rule, is_active) in [(RuleId::MixedActive, true), (RuleId::MixedPassive, false)] {
            let mixed = surface.insecure.iter().filter(|insecure| insecure.is_active == is_active);
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

    fn frames(&mut self, surface: &Surface) {
        let location = |frame: &crate::surface::Frame| {
            Location::element(LocationKind::Frame, frame.descriptor(), &frame.place).numbered(frame.dom_index)
        };
        self.group(RuleId::Frame, surface.frames.iter().map(location), None);
        let foreign = surface.frames.iter().filter(|frame| frame.third_party && !frame.sandbox);
        self.group(RuleId::FrameThirdParty, foreign.map(location), None);
    }

    /// How the page reaches out besides. Last, so that evidence has the numbers that it had.
    fn reaches(&mut self, surface: &Surface) {
        for (rule, kind) in [
            (RuleId::BaseThirdParty, ReachKind::Base),
            (RuleId::SubmitterThirdParty, ReachKind::Submitter),
            (RuleId::EmbedThirdParty, ReachKind::Embed),
            (RuleId::RefreshThirdParty, ReachKind::Refresh),
            (RuleId::ScriptLink, ReachKind::ScriptLink),
            (RuleId::ModuleThirdParty, ReachKind::Module),
        ] {
            let is_such =
                |reach: &&Reach| reach.kind == kind && (reach.third_party || kind == ReachKind::ScriptLink);
            let such = surface.reaches.iter().filter(is_such).map(reach_location);
            self.group(rule, such, None);
        }
    }

    fn weak_headers(&mut self, headers: &HeaderView) {
        for (rule, header, what) in policy::weaknesses(headers) {
            self.single(rule, Location::header(header, Some(what)));
        }
    }
}

/// The inputs with their forms, in order.
fn inputs(surface: &Surface) -> impl Iterator<Item = (&Form, &Input)> {
    surface.forms.iter().flat_map(|form| form.inputs.iter().map(move |input| (form, input)))
}

/// The header that evidence is about.
fn header_of(evidence: &Evidence) -> Option<&str> {
    evidence.locations.first().and_then(|location| location.header_name.as_deref())
}
