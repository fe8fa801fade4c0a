//! Batch calls.

use super::*;
use crate::wire::batch::{BatchView, RecipientView};

fn key() -> Value {
    let mut key = header(
        "Idempotency-Key",
        "A retry with the same key and body within 24 hours returns the first response.",
        json!({"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[ -~]+$"}),
    );
    key["example"] = json!("reminders-2026-05");
    key
}

pub(super) fn operations() -> Vec<Operation> {
    use Answer::{List, One};
    let read = Access::Scope(Scope::CampaignsRead);
    let write = Access::Scope(Scope::CampaignsWrite);
    let (all, one) = ("/v1/batch-calls", "/v1/batch-calls/{id}");
    operations! {
        GET all, listBatches, read => List("BatchCall"), "List batch calls"
            .filters(vec![
                query("status", "Only in this status.", words(BatchStatus::ALL)),
                query("agent_id", "Only of this agent.", uuid()),
            ]);
        POST all, createBatch, write
            => One("BatchCall"), "Call many recipients with a legacy agent; JSON, or a form with a CSV `file` of the recipients"
            .body("CreateBatchCall")
            .form("CreateBatchCallForm")
            .filters(vec![key()])
            .status(202)
            .errors_too(&[
                Code::InvalidIdempotencyKey,
                Code::IdempotencyConflict,
                Code::Conflict,
                Code::UnsupportedRuntime,
            ]);
        GET one, getBatch, read => One("BatchCall"), "Read a batch";
        GET "/v1/batch-calls/{id}/recipients", listBatchRecipients, read
            => List("BatchRecipient"), "List a batch's recipients, in the order of the request"
            .filters(vec![query("status", "Only in this status.", words(RecipientStatus::ALL))]);
        POST "/v1/batch-calls/{id}/pause", pauseBatch, write
            => One("BatchCall"), "Pause a batch; calls in progress continue"
            .optional_body("Nothing").errors_too(&[Code::Conflict]);
        POST "/v1/batch-calls/{id}/resume", resumeBatch, write => One("BatchCall"), "Resume a paused batch"
            .optional_body("Nothing").errors_too(&[Code::Conflict]);
        POST "/v1/batch-calls/{id}/cancel", cancelBatch, write
            => One("BatchCall"), "Cancel a batch; calls in progress continue"
            .optional_body("Nothing").errors_too(&[Code::Conflict]);
        POST "/v1/batch-calls/{id}/retry", retryBatch, write
            => One("BatchCall"), "Retry the failed and canceled recipients of an ended batch"
            .optional_body("Nothing")
            .filters(vec![key()])
            .status(202)
            .errors_too(&[Code::InvalidIdempotencyKey, Code::IdempotencyConflict, Code::Conflict]);
    }
}

pub(super) fn schemas() -> Vec<(&'static str, Value)> {
    let metadata_shown = [("metadata", nullable(map(variable())))];
    let required = [("name", text(120)), ("agent_id", text(255))];
    let optional = [
        ("phone_number_id", nullable(uuid())),
        ("scheduled_at", nullable(string())),
    ];
    // A form has no null.
    let form = [("phone_number_id", uuid()), ("scheduled_at", string())];
    let row = request(&["to"], &[("to", e164()), ("metadata", metadata())]);
    let mut rows = array(row);
    rows["minItems"] = json!(1);
    rows["maxItems"] = json!(10_000);
    let file = json!({"type": "string", "format": "binary"});
    schemas! {
        BatchCall => BatchView::shape();
        BatchRecipient => with(RecipientView::shape(), &metadata_shown);
        CreateBatchCall =>
            request(&["name", "agent_id", "recipients"], &[&required[..], &optional, &[("recipients", rows)]].concat());
        CreateBatchCallForm =>
            request(&["name", "agent_id", "file"], &[&required[..], &form, &[("file", file)]].concat());
    }
}
