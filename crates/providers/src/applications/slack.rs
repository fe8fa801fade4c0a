//! Slack (Web API, OAuth v2): posts messages to a channel, as the bot of the deployment's app.
//!
//! Refusals are HTTP 200 with `ok: false` and a reason (<https://docs.slack.dev/reference/methods/chat.postMessage>).
//! There is no idempotency key, so a repeated request posts again. The app sends no PKCE: allowing it would make it a
//! public client for good (<https://docs.slack.dev/authentication/using-pkce>).

use futures_util::FutureExt as _;
use offhook_domain::ports::FunctionError;
use offhook_domain::tool::HttpMethod;
use serde::Deserialize;
use serde_json::json;

use super::api::{Api, Fault, Result, message, read};
use super::oauth::OAuth;
use super::{Definition, Function, cut};

const POST_MESSAGE: &str = "post_message";

const POST_PATH: &str = "chat.postMessage";

pub(super) const DEFINITION: Definition = Definition {
    toolkit: "slack",
    name: "team chat",
    oauth: OAuth {
        authorize_url: "https://slack.com/oauth/v2/authorize",
        token_url: "https://slack.com/api/oauth.v2.access",
        revoke_url: Some("https://slack.com/api/auth.revoke"),
        revokes_itself: true,
        // The second is for public channels that the bot has not joined.
        scopes: &["chat:write", "chat:write.public"],
        separator: ",",
        has_pkce: false,
        token_type: "bot",
        ..OAuth::STANDARD
    },
    api_url: "https://slack.com/api",
    functions: &[Function {
        name: POST_MESSAGE,
        description: "Posts a message to a channel of the team's chat. Use it once for each thing the team is to know.",
        parameters: POST_MESSAGE_SCHEMA,
        method: HttpMethod::Post,
        path: POST_PATH,
    }],
    call: |api, call| {
        async move {
            match call.function {
                POST_MESSAGE => post_message(api, read(call)?).await,
                _ => Err(api.no_such_function()),
            }
        }
        .boxed()
    },
};

// Names of channels have no capitals; ids that begin otherwise are persons and direct messages.
const POST_MESSAGE_SCHEMA: &str = r#"{"type":"object","properties":{
"channel":{"type":"string","pattern":"^(#?[^A-Z\\s#@&<>,.]{1,80}|[CG][A-Z0-9]{6,20})$","description":"The channel's name, such as #leads, or its id"},
"text":{"type":"string","minLength":1,"maxLength":3500,"description":"The message, as plain text"}},
"required":["channel","text"],"additionalProperties":false}"#;

#[derive(Deserialize)]
struct Message {
    channel: String,
    text: String,
}

#[derive(Deserialize)]
struct Answer {
    ok: bool,
    error: Option<String>,
    channel: Option<String>,
    ts: Option<String>,
}

async fn post_message(api: Api<'_>, post: Message) -> Result<String> {
    // Without these characters a text mentions nobody (<https://docs.slack.dev/messaging/formatting-message-text>).
    let text = post.text.replace('&', "&amp;");
    let text = text.replace('<', "&lt;").replace('>', "&gt;");
    let asked = json!({
        "channel": post.channel,
        "text": text,
        "mrkdwn": false,
        "parse": "none",
        "link_names": false,
        "unfurl_links": false,
        "unfurl_media": false,
    });
    let answer: Result<Answer, Fault> = api.post(POST_PATH, &[], &asked).await;
    let answer = answer.map_err(|fault| api.not_done("posted", &fault))?;
    if answer.ok {
        let told = |text: &Option<String>| text.as_deref().map(|text| cut(text, 40).to_owned());
        let (channel, id) = (told(&answer.channel), told(&answer.ts));
        return Ok(json!({"posted": true, "channel": channel, "message_id": id}).to_string());
    }
    Err(match answer.error.as_deref().unwrap_or_default() {
        "invalid_auth" | "not_authed" | "token_expired" | "token_revoked" | "account_inactive" => {
            FunctionError::Unauthorized
        }
        "channel_not_found" | "not_in_channel" | "is_archived" => {
            message("There is no such channel, or the app is not in it: nothing was posted.")
        }
        "ratelimited" | "rate_limited" => api.not_done("posted", &Fault::Status(429, None)),
        // Something may have been done by then.
        "internal_error" | "fatal_error" | "service_unavailable" | "request_timeout" => {
            api.not_done("posted", &Fault::NoAnswer)
        }
        _ => message("The team chat refused the message: nothing was posted."),
    })
}
