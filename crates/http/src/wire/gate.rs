//! Suppressed numbers, and who would be called.

use offhook_services::DialCheck;
use offhook_services::store::Suppression;

use super::shown;
use crate::prelude::*;

shown! {
    /// A number that the account does not call.
    SuppressionBody(suppression: Suppression) {
        id,
        number,
        reason,
        source,
        until,
        conversation_id,
        created_at,
    }
}

/// Whether a number would be called.
#[derive(Serialize)]
pub(crate) struct DialCheckBody<'a> {
    to: &'a E164,
    allowed: bool,
    rule: Option<DialRule>,
    reason: Option<String>,
    allowed_at: Option<Timestamp>,
    time_zones: &'a [&'static str],
}

impl<'a> From<&'a DialCheck> for DialCheckBody<'a> {
    fn from(check: &'a DialCheck) -> Self {
        Self {
            to: &check.to,
            allowed: check.rule.is_none(),
            rule: check.rule,
            reason: check.refusal.as_ref().map(ToString::to_string),
            allowed_at: check.allowed_at,
            time_zones: &check.time_zones,
        }
    }
}

/// The checks of a request, in its order.
#[derive(Serialize)]
pub(crate) struct DialChecksBody<'a> {
    pub(crate) data: Vec<DialCheckBody<'a>>,
}

/// What came of a file.
#[derive(Serialize)]
pub(crate) struct ImportedBody {
    pub(crate) suppressed: usize,
}
