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

shown! {
    /// Whether a number would be called.
    DialCheckBody(check: DialCheck) {
        to,
        allowed = check.rule.is_none(),
        rule,
        reason = check.refusal.as_ref().map(ToString::to_string),
        allowed_at,
        time_zones,
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
