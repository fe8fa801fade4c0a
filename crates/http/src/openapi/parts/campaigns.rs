//! Campaigns of engine agents.

use offhook_services::{CAMPAIGN_ROWS_AT_MOST, bodies};

use super::gate::consent;
use super::*;
use crate::wire::campaign::{AddedBody, CampaignRecipientView, CampaignView, EstimateBody};

pub(super) fn operations() -> Vec<Operation> {
    use Answer::{Csv, List, One};
    let read = Access::Scope(Scope::CampaignsRead);
    let write = Access::Scope(Scope::CampaignsWrite);
    let (all, one) = ("/v1/campaigns", "/v1/campaigns/{id}");
    let recipients = "/v1/campaigns/{id}/recipients";
    operations! {
        GET all, listCampaigns, read => List("Campaign"), "List campaigns"
            .filters(vec![
                query("status", "Only in this status.", words(CampaignStatus::ALL)),
                query("agent_id", "Only of this agent.", uuid()),
            ]);
        POST all, createCampaign, write => One("Campaign"), "Create a campaign of an engine agent, which calls nobody before it is started"
            .body("CreateCampaign").status(201).errors_too(&[Code::UnsupportedRuntime]);
        GET one, getCampaign, read => One("Campaign"), "Read a campaign";
        GET recipients, listCampaignRecipients, read
            => List("CampaignRecipient"), "List a campaign's recipients, in the order they were added"
            .filters(vec![
                query("status", "Only in this status.", words(CampaignRecipientStatus::ALL)),
                query("outcome", "Only those whose latest call came to this.", words(Outcome::ALL)),
            ]);
        POST recipients, addCampaignRecipients, write
            => One("AddedRecipients"), "Add recipients to a campaign, also while it runs; JSON, or a CSV file of at most 20 MiB (columns `to`, `name`, `time_zone`, `consent_basis`, `consent_at`, `consent_evidence`; every other column is a variable)"
            .body("AddCampaignRecipients").form("AddCampaignRecipientsForm")
            .filters(vec![query("skip_bad_rows", "Whether rows with a fault are left out; else one refuses all.", boolean())])
            .status(201).errors_too(&[Code::Conflict]);
        POST "/v1/campaigns/{id}/start", startCampaign, write => One("Campaign"), "Start a draft"
            .optional_body("Nothing").errors_too(&[Code::Conflict, Code::AgentDisabled]);
        POST "/v1/campaigns/{id}/pause", pauseCampaign, write => One("Campaign"), "Pause a campaign; calls in progress continue"
            .optional_body("Nothing").errors_too(&[Code::Conflict]);
        POST "/v1/campaigns/{id}/resume", resumeCampaign, write => One("Campaign"), "Resume a paused campaign"
            .optional_body("Nothing").errors_too(&[Code::Conflict]);
        POST "/v1/campaigns/{id}/cancel", cancelCampaign, write => One("Campaign"), "Cancel a campaign; calls in progress continue"
            .optional_body("Nothing").errors_too(&[Code::Conflict]);
        GET "/v1/campaigns/{id}/estimate", estimateCampaign, read
            => One("CampaignEstimate"), "What is left of a campaign: calls, minutes, credits and when it ends";
        GET "/v1/campaigns/{id}/events", followCampaign, read
            => Answer::Events, "Follow a campaign's progress, until it is over"
            .errors_too(&[Code::Conflict]);
        GET "/v1/campaigns/{id}/results", exportCampaignResults, read => Csv, "What came of every recipient, as CSV";
    }
}

/// The members that have readers of their own.
fn own(name: &str) -> Value {
    match name {
        "days" => array(integer()),
        "start" | "end" => string(),
        "holidays" => array(string()),
        "variables" => metadata(),
        _ => json!({"anyOf": [
            {"type": "integer", "minimum": 1, "maximum": Retry::MINUTES_AT_MOST}, words(&Retry::WORDS),
        ]}),
    }
}

pub(super) fn schemas() -> Vec<(&'static str, Value)> {
    let settings = <CampaignSettings as offhook_domain::body::Body>::members();
    let settings = json!({"type": "object", "properties": body::properties(settings, &own)});
    let rows = json!({
        "type": "array", "minItems": 1, "maxItems": CAMPAIGN_ROWS_AT_MOST,
        "items": body::request_with::<bodies::CampaignRecipientRequest>(&own),
    });
    let skips = ("skip_bad_rows", boolean());
    let file = ("file", json!({"type": "string", "format": "binary"}));
    let shown = [
        ("variables", map(variable())),
        ("consent", nullable(consent())),
    ];
    schemas! {
        Campaign => with(CampaignView::shape(), &[("settings", settings), ("outcomes", map(integer()))]);
        CampaignRecipient => with(CampaignRecipientView::shape(), &shown);
        CampaignEstimate => EstimateBody::shape();
        CreateCampaign => body::request_with::<bodies::CampaignRequest>(&own);
        AddCampaignRecipients => request(&["recipients"], &[("recipients", rows), skips.clone()]);
        AddCampaignRecipientsForm => request(&["file"], &[file, skips]);
        AddedRecipients => AddedBody::shape();
    }
}
