//! The ids of rules and of changes.
//!
//! One registry each, so that packs, rows and JSON use the same names. Packs have their sentences,
//! and detectors find them.

use serde::{Deserialize, Serialize};

/// Makes an enum whose members have names in snake case, with a list of all.
macro_rules! registry {
    ($(#[$doc:meta])* $name:ident { $($(#[$note:meta])* $member:ident = $text:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$note])* #[serde(rename = $text)] $member,)+
        }

        impl $name {
            /// All of them, in order.
            pub const ALL: [Self; [$($text),+].len()] = [$(Self::$member),+];

            /// The name in packs, rows and JSON.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$member => $text,)+
                }
            }
        }
    };
}

registry! {
    /// What can be found in a page and its headers.
    RuleId {
        /// A form whose action speaks of administration.
        FormAdmin = "form_admin",
        /// A form whose action speaks of logging in.
        FormAuth = "form_auth",
        /// A form whose action speaks of uploads.
        FormUpload = "form_upload",
        /// Any other form.
        Form = "form",
        /// An input for a file.
        InputFile = "input_file",
        /// An input for a password.
        InputPassword = "input_password",
        /// Hidden inputs.
        InputHidden = "input_hidden",
        /// All other inputs with a name.
        Input = "input",
        /// A session's cookie that scripts can read.
        SessionCookieNoHttpOnly = "session_cookie_no_httponly",
        /// A session's cookie that they cannot read.
        SessionCookie = "session_cookie",
        /// A cookie without `HttpOnly`.
        CookieNoHttpOnly = "cookie_no_httponly",
        /// A cookie without `Secure`.
        CookieNoSecure = "cookie_no_secure",
        /// Cookies.
        Cookie = "cookie",
        /// Cookies without `SameSite`.
        CookieNoSameSite = "cookie_no_samesite",
        /// Cookies of which only the marker of redaction is left.
        CookieRedacted = "cookie_redacted",
        /// Scripts in the page.
        ScriptInline = "script_inline",
        /// Scripts that an SVG loads. They count as much as inline scripts, which they were counted
        /// among.
        ScriptSvg = "script_svg",
        /// Scripts that are loaded.
        ScriptExternal = "script_external",
        /// Scripts that other sites serve.
        ScriptThirdParty = "script_third_party",
        /// Such scripts without an integrity attribute.
        ScriptNoIntegrity = "script_no_integrity",
        /// Scripts in attributes.
        EventHandler = "event_handler",
        /// Frames.
        Frame = "frame",
        /// Frames that show other sites without a sandbox.
        FrameThirdParty = "frame_third_party",
        /// Scripts, styles and frames over `http:` in a page over `https:`.
        MixedActive = "mixed_active",
        /// Images and media over `http:` in a page over `https:`.
        MixedPassive = "mixed_passive",
        /// Forms of a page over `https:` that send over `http:`.
        FormInsecureTarget = "form_insecure_target",
        /// Forms that send to other sites.
        FormThirdParty = "form_third_party",
        /// An input for a password in a page over `http:`.
        PasswordOverHttp = "password_over_http",
        /// Parameters of the query and of forms.
        Parameter = "parameter",
        /// Parameters with telling names.
        ParameterSuspicious = "parameter_suspicious",
        /// No `Content-Security-Policy`.
        CspMissing = "csp_missing",
        /// No `Strict-Transport-Security`.
        HstsMissing = "hsts_missing",
        /// No `X-Frame-Options`.
        XfoMissing = "xfo_missing",
        /// No `X-Content-Type-Options`.
        XctoMissing = "xcto_missing",
        /// No `Referrer-Policy`.
        ReferrerPolicyMissing = "referrer_policy_missing",
        /// No `Permissions-Policy`.
        PermissionsPolicyMissing = "permissions_policy_missing",
        /// A policy that only reports.
        CspReportOnly = "csp_report_only",
        /// A policy with `'unsafe-inline'`.
        CspUnsafeInline = "csp_unsafe_inline",
        /// A policy with `'unsafe-eval'`.
        CspUnsafeEval = "csp_unsafe_eval",
        /// A policy that allows every host.
        CspWildcard = "csp_wildcard",
        /// `Strict-Transport-Security` that ends at once, or does not say when.
        HstsOff = "hsts_off",
        /// `Strict-Transport-Security` that lasts less than half a year.
        HstsWeak = "hsts_weak",
        /// `X-Frame-Options` with a value that browsers ignore.
        XfoInvalid = "xfo_invalid",
        /// `X-Content-Type-Options` with a value that browsers ignore.
        XctoInvalid = "xcto_invalid",
        /// `Referrer-Policy` that tells whole addresses.
        ReferrerPolicyUnsafe = "referrer_policy_unsafe",
        /// `Access-Control-Allow-Origin: *`.
        CorsAnyOrigin = "cors_any_origin",
        /// Headers that name software and its version.
        SoftwareVersion = "software_version",
        /// Relative addresses that lead to another site.
        BaseThirdParty = "base_third_party",
        /// Buttons that send their form to another site.
        SubmitterThirdParty = "submitter_third_party",
        /// Objects of other sites.
        EmbedThirdParty = "embed_third_party",
        /// A page that sends visitors to another site by itself.
        RefreshThirdParty = "refresh_third_party",
        /// Addresses that are scripts.
        ScriptLink = "script_link",
        /// Modules of other sites that scripts in the page import.
        ModuleThirdParty = "module_third_party",
    }
}

registry! {
    /// What can change between two versions of a page.
    ChangeKind {
        /// A form came.
        FormAdded = "form_added",
        /// A form came whose action speaks of administration.
        AdminFormAdded = "admin_form_added",
        /// A form came whose action speaks of logging in.
        AuthFormAdded = "auth_form_added",
        /// A form came whose action speaks of uploads.
        UploadFormAdded = "upload_form_added",
        /// A form came that sends to another site.
        ThirdPartyFormAdded = "third_party_form_added",
        /// A form sends elsewhere, or by another method.
        FormTargetChanged = "form_target_changed",
        /// A form sends to another site now.
        FormSentAway = "form_sent_away",
        /// A form of an encrypted page sends unencrypted now.
        FormSentUnencrypted = "form_sent_unencrypted",
        /// A form went.
        FormRemoved = "form_removed",
        /// An input came.
        InputAdded = "input_added",
        /// An input for a file came.
        FileInputAdded = "file_input_added",
        /// An input for a password came.
        PasswordInputAdded = "password_input_added",
        /// An input has another type, or is required now or no more.
        InputChanged = "input_changed",
        /// An input went.
        InputRemoved = "input_removed",
        /// A cookie came.
        CookieAdded = "cookie_added",
        /// A cookie came without `HttpOnly` or `Secure`.
        WeakCookieAdded = "weak_cookie_added",
        /// A cookie lost `HttpOnly`.
        CookieHttpOnlyRemoved = "cookie_httponly_removed",
        /// A cookie lost `Secure`.
        CookieSecureRemoved = "cookie_secure_removed",
        /// A cookie has a weaker `SameSite`.
        CookieSameSiteWeakened = "cookie_samesite_weakened",
        /// A cookie went.
        CookieRemoved = "cookie_removed",
        /// A script came.
        ScriptAdded = "script_added",
        /// A script of another site came.
        ThirdPartyScriptAdded = "third_party_script_added",
        /// A script went.
        ScriptRemoved = "script_removed",
        /// A frame came.
        FrameAdded = "frame_added",
        /// A frame came that shows another site.
        ThirdPartyFrameAdded = "third_party_frame_added",
        /// Relative addresses lead to another site.
        BaseSentAway = "base_sent_away",
        /// A button came that sends its form to an address of its own.
        SubmitterAdded = "submitter_added",
        /// A button came that sends its form to another site.
        SubmitterSentAway = "submitter_sent_away",
        /// A button came that sends its form unencrypted.
        SubmitterSentUnencrypted = "submitter_sent_unencrypted",
        /// An object came.
        EmbedAdded = "embed_added",
        /// An object of another site came.
        ThirdPartyEmbedAdded = "third_party_embed_added",
        /// The page sends visitors on by itself.
        RefreshAdded = "refresh_added",
        /// It sends them to another site.
        RefreshSentAway = "refresh_sent_away",
        /// An address that is a script came.
        ScriptLinkAdded = "script_link_added",
        /// A script imports a module of another site.
        ThirdPartyModuleAdded = "third_party_module_added",
        /// A script came in an attribute.
        HandlerAdded = "handler_added",
        /// A frame went.
        FrameRemoved = "frame_removed",
        /// A header came.
        HeaderAdded = "header_added",
        /// A header went that protected nothing.
        HeaderRemoved = "header_removed",
        /// The `Content-Security-Policy` went or allows more.
        CspWeakened = "csp_weakened",
        /// `Strict-Transport-Security` went or lasts less long.
        HstsWeakened = "hsts_weakened",
        /// `X-Frame-Options` went or became void.
        XfoWeakened = "xfo_weakened",
        /// Another protecting header went.
        ProtectionWeakened = "protection_weakened",
        /// A protecting header changed without being weaker.
        HeaderChanged = "header_changed",
    }
}

/// The severity of a finding or change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExposureSeverity {
    /// For information.
    Low,
    /// To be reviewed.
    Medium,
    /// To be reviewed first.
    High,
    /// To be reviewed at once. No rule of the first pack has it.
    Critical,
}

/// The category of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RuleCategory {
    /// Forms.
    Form,
    /// Inputs of forms.
    Input,
    /// Cookies.
    Cookie,
    /// Scripts.
    Script,
    /// Frames.
    Frame,
    /// What travels unencrypted.
    Transport,
    /// Parameters.
    Parameter,
    /// Headers.
    Header,
}
