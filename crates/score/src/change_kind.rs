//! What a change is called, and how bad it is. How it is found is told in [changes](crate::changes).

use crate::rule::{ChangeKind, Severity};
use crate::surface::{Reach, ReachKind};

/// The word for a change that readers of security diffs know.
pub(crate) const fn public_kind(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::AdminFormAdded
        | ChangeKind::AuthFormAdded
        | ChangeKind::UploadFormAdded
        | ChangeKind::ThirdPartyFormAdded => "form_added",
        ChangeKind::FormTargetChanged | ChangeKind::FormSentAway | ChangeKind::FormSentUnencrypted => {
            "form_changed"
        }
        ChangeKind::FileInputAdded | ChangeKind::PasswordInputAdded => "input_added",
        ChangeKind::WeakCookieAdded => "cookie_added",
        ChangeKind::ThirdPartyScriptAdded => "script_added",
        ChangeKind::ThirdPartyFrameAdded => "frame_added",
        ChangeKind::BaseSentAway => "base_changed",
        ChangeKind::SubmitterSentAway | ChangeKind::SubmitterSentUnencrypted => "submitter_added",
        ChangeKind::ThirdPartyEmbedAdded => "embed_added",
        ChangeKind::RefreshSentAway => "refresh_added",
        ChangeKind::ThirdPartyModuleAdded => "module_added",
        ChangeKind::CspWeakened
        | ChangeKind::HstsWeakened
        | ChangeKind::XfoWeakened
        | ChangeKind::ProtectionWeakened => "header_changed",
        other => other.name(),
    }
}

/// How bad a change is, by its category; what strangers have a hand in is no trifle.
pub(crate) fn severity(rule: ChangeKind, category: &str) -> Severity {
    match category {
        "upload_surface" | "admin_surface" | "security_regression" | "cookie_regression" => Severity::High,
        "auth_surface" | "cookie_risk" => Severity::Medium,
        _ if is_of_strangers(rule) => Severity::Medium,
        _ => Severity::Low,
    }
}

/// Whether another site has a hand in what changed.
const fn is_of_strangers(rule: ChangeKind) -> bool {
    matches!(
        rule,
        ChangeKind::ThirdPartyScriptAdded
            | ChangeKind::ThirdPartyFormAdded
            | ChangeKind::ThirdPartyFrameAdded
            | ChangeKind::ThirdPartyEmbedAdded
            | ChangeKind::ThirdPartyModuleAdded
    )
}

/// The change that a new way out is; none if it is nothing to look for.
pub(crate) const fn reach_change(reach: &Reach) -> Option<ChangeKind> {
    let kind = match (reach.kind, reach.third_party) {
        (ReachKind::Base, true) => ChangeKind::BaseSentAway,
        (ReachKind::Submitter, true) => ChangeKind::SubmitterSentAway,
        (ReachKind::Submitter, false) if reach.insecure => ChangeKind::SubmitterSentUnencrypted,
        (ReachKind::Submitter, false) => ChangeKind::SubmitterAdded,
        (ReachKind::Embed, true) => ChangeKind::ThirdPartyEmbedAdded,
        (ReachKind::Embed, false) => ChangeKind::EmbedAdded,
        (ReachKind::Refresh, true) => ChangeKind::RefreshSentAway,
        (ReachKind::Refresh, false) => ChangeKind::RefreshAdded,
        (ReachKind::ScriptLink, _) => ChangeKind::ScriptLinkAdded,
        (ReachKind::Module, true) => ChangeKind::ThirdPartyModuleAdded,
        (ReachKind::Base | ReachKind::Module, false) => return None,
    };
    Some(kind)
}
