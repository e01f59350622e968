//! The public name and the severity of a change. `changes` finds the changes.

use crate::rule_id::{ChangeKind, ExposureSeverity};
use crate::surface::{OutboundElement, OutboundKind};

/// The public name of a change.
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

/// The severity of a change by its category. Changes with third parties are at least medium.
pub(crate) fn severity(rule: ChangeKind, category: &str) -> ExposureSeverity {
    match category {
        "upload_surface" | "admin_surface" | "security_regression" | "cookie_regression" => {
            ExposureSeverity::High
        }
        "auth_surface" | "cookie_risk" => ExposureSeverity::Medium,
        _ if is_of_strangers(rule) => ExposureSeverity::Medium,
        _ => ExposureSeverity::Low,
    }
}

/// Whether a change involves another site.
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

/// The kind of change of a new outbound element. `None` if it is harmless.
pub(crate) const fn reach_change(reach: &OutboundElement) -> Option<ChangeKind> {
    let kind = match (reach.kind, reach.third_party) {
        (OutboundKind::Base, true) => ChangeKind::BaseSentAway,
        (OutboundKind::Submitter, true) => ChangeKind::SubmitterSentAway,
        (OutboundKind::Submitter, false) if reach.insecure => ChangeKind::SubmitterSentUnencrypted,
        (OutboundKind::Submitter, false) => ChangeKind::SubmitterAdded,
        (OutboundKind::Embed, true) => ChangeKind::ThirdPartyEmbedAdded,
        (OutboundKind::Embed, false) => ChangeKind::EmbedAdded,
        (OutboundKind::Refresh, true) => ChangeKind::RefreshSentAway,
        (OutboundKind::Refresh, false) => ChangeKind::RefreshAdded,
        (OutboundKind::ScriptLink, _) => ChangeKind::ScriptLinkAdded,
        (OutboundKind::Module, true) => ChangeKind::ThirdPartyModuleAdded,
        (OutboundKind::Base | OutboundKind::Module, false) => return None,
    };
    Some(kind)
}
