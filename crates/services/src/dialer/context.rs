//! The context URL of an agent: before a call begins, a server of the account says what it knows of it.

use offhook_domain::config::is_bcp47_shape;
use offhook_egress::{Failure, TargetUrl};
use offhook_signing::{SIGNATURE_HEADER, sign};
use reqwest::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use reqwest::{Method, Response};
use tokio::time::{Instant, timeout};

use super::call::{Serving, serving};
use crate::Result;
use crate::agents::ContextUrl;
use crate::calls::RESERVED_SECONDS;
use crate::conversations::reserve_more;
use crate::prelude::*;
use crate::variables::Scene;

/// How long the whole exchange may take: the caller hears ringing meanwhile.
const LIMIT: Duration = Duration::from_secs(2);

/// Bytes of an answer.
const MAX_ANSWER_BYTES: usize = 16 * 1024;

/// Characters of a reason and of a note.
const MAX_REASON_CHARS: usize = 500;

const AGENT: &str = "Service-Context/1.0";

/// A call that may begin.
pub(super) struct Begun {
    pub(super) call: Conversation,
    pub(super) serving: Serving,
    pub(super) metadata: Metadata,
    /// What the agent only says before it ends the call.
    pub(super) farewell: Option<String>,
}

/// What a context URL answers.
#[derive(Debug, Default, PartialEq)]
struct Said {
    variables: Option<Metadata>,
    language: Option<String>,
    agent: Option<String>,
    refusal: Option<String>,
}

/// Asks the agent's context URL, if it has one for this call, and writes down what became of it. The inner error is the
/// reason for which the call must not begin.
pub(super) async fn ask(
    runner: &Arc<Runner>,
    call: &Conversation,
    claim: ClaimId,
    own: Serving,
    metadata: Metadata,
) -> Result<Result<Begun, FailureReason>> {
    let mut begun = Begun {
        call: call.clone(),
        serving: own,
        metadata,
        farewell: None,
    };
    let context = begun.serving.background.settings.context_url.clone();
    let Some(context) = context.filter(|it| call.is_inbound() || it.outgoing) else {
        return Ok(Ok(begun));
    };
    let (at, since) = (runner.clock.now(), Instant::now());
    let asked = timeout(LIMIT, exchange(runner, call, &context, &begun.metadata)).await;
    let (result, detail) = match asked.unwrap_or_else(|_| Err("timeout".to_owned())) {
        Err(fault) => {
            begun.farewell = context.failure_message;
            (ContextResult::Failed, fault)
        }
        Ok(Said {
            refusal: Some(reason),
            ..
        }) => (ContextResult::Refused, reason),
        Ok(said) => {
            let unused = apply(runner, claim, said, &mut begun).await;
            (
                ContextResult::Answered,
                unused.unwrap_or_default().to_owned(),
            )
        }
    };
    if result == ContextResult::Failed {
        tracing::warn!(call = %call.id, detail, "a context URL gave no usable answer");
    }
    let note = ContextNote {
        conversation_id: call.id,
        at,
        took_ms: i32::try_from(since.elapsed().as_millis()).unwrap_or(i32::MAX),
        result,
        detail: detail.chars().take(MAX_REASON_CHARS).collect(),
    };
    if let Err(error) = runner.store.note_context(note).await {
        // The call is worth more than its note.
        tracing::warn!(%error, call = %call.id, "what a context URL answered cannot be written down");
    }
    runner.live.touch(call.id);
    Ok(match result {
        ContextResult::Refused => Err(FailureReason::ContextRefused),
        _ => Ok(begun),
    })
}

/// Lets the call begin as was answered. Returns why a part of that is left out.
async fn apply(
    runner: &Arc<Runner>,
    claim: ClaimId,
    said: Said,
    begun: &mut Begun,
) -> Option<&'static str> {
    let mut unused = None;
    if let Some(agent) = said.agent {
        match hand_over(runner, claim, &agent, begun).await {
            Ok(Ok(Some((call, serving)))) => {
                begun.call = call;
                begun.serving = serving;
            }
            Ok(Ok(None)) => {}
            Ok(Err(why)) => unused = Some(why),
            Err(error) => {
                tracing::warn!(%error, call = %begun.call.id, "a call stays with the agent of its number");
                unused = Some("agent_id: the database did not answer");
            }
        }
    }
    if let Some(variables) = said.variables {
        begun.metadata = begun.metadata.with(&variables);
    }
    if let Some(language) = said.language {
        let config = &mut begun.serving.config;
        config.stt.language = None;
        config.voice.language = None;
        config.language = language;
    }
    unused
}

/// Gives a call that came in to the published version of another agent; `None` if it has the call already. The inner
/// error says why it stays where it is.
async fn hand_over(
    runner: &Arc<Runner>,
    claim: ClaimId,
    agent: &str,
    begun: &Begun,
) -> Result<Result<Option<(Conversation, Serving)>, &'static str>> {
    const UNAVAILABLE: &str = "agent_id: no published agent of this account";
    let call = &begun.call;
    let Ok(id) = agent.parse::<AgentId>() else {
        return Ok(Err(UNAVAILABLE));
    };
    if id == call.agent_id {
        return Ok(Ok(None));
    }
    if !call.is_inbound() {
        return Ok(Err("agent_id: an outgoing call keeps its agent"));
    }
    if call.is_of_a_page() {
        return Ok(Err("agent_id: a web page's conversation keeps its agent"));
    }
    let store = &runner.store;
    let found = store.agent(call.account_id, id).await?;
    let serves = |agent: &Agent| {
        agent.status == AgentStatus::Active
            && agent.runtime == Runtime::Engine
            && agent.published_version > 0
    };
    let agent = some_or!(found.filter(serves), Err(UNAVAILABLE));
    let mut handed = Conversation {
        agent_id: id,
        agent_ref: id.to_string(),
        agent_version: agent.published_version,
        ..call.clone()
    };
    let Ok(serving) = serving(runner, &handed).await? else {
        return Ok(Err("agent_id: outside the calling hours of the agent"));
    };
    let providers = runner.providers.of(runner, call.account_id).await?;
    if !providers.can_speak(&serving.config) {
        return Ok(Err("agent_id: the agent cannot speak here"));
    }
    let account = some_or!(store.account(call.account_id).await?, Err(UNAVAILABLE));
    let (price, reserve) = providers.terms_of(account.plan, &serving.config);
    handed.price_millicredits = price.millicredits_per_minute();
    let longest = begun.serving.config.conversation.max_duration_s;
    let held = call.price().of_seconds(longest.clamp(60, RESERVED_SECONDS));
    let (at, key) = (runner.clock.now(), (call.id, claim));
    let version = (id, agent.published_version);
    let done = store.transaction::<_, UseCaseError, _>(move |mut tx| {
        Box::pin(async move {
            if reserve > held {
                reserve_more(&mut tx, key.0, reserve - held, at).await?;
            }
            Ok(tx.hand_call_to(key, version, price).await?)
        })
    });
    match done.await {
        Ok(true) => Ok(Ok(Some((handed, serving)))),
        Ok(false) => Ok(Err("agent_id: the call is no longer waiting")),
        Err(UseCaseError::Store(error)) => Err(error),
        Err(_) => Ok(Err(
            "agent_id: the wallet does not cover a call with the agent",
        )),
    }
}

/// Sends the request and reads the answer; the error is a word or a short sentence.
async fn exchange(
    runner: &Arc<Runner>,
    call: &Conversation,
    context: &ContextUrl,
    metadata: &Metadata,
) -> Result<Said, String> {
    let client = &runner.tool_client;
    let not_allowed = |_| "the URL is not allowed".to_owned();
    let target = TargetUrl::parse(&context.url, client.policy()).map_err(not_allowed)?;
    let secret = runner.store.agent_secret(call.agent_id).await;
    let secret = secret.ok().flatten().and_then(|secret| secret.parse().ok());
    let secret = secret.ok_or_else(|| "the signing secret cannot be read".to_owned())?;
    let body = body(call, metadata);
    let signature = sign(
        &[secret],
        runner.clock.now().unix_seconds(),
        body.as_bytes(),
    );
    let response = client
        .request(Method::POST, &target)
        .map_err(not_allowed)?
        .header(USER_AGENT, AGENT)
        .header(ACCEPT, "application/json")
        .header(CONTENT_TYPE, "application/json")
        .header(SIGNATURE_HEADER, signature)
        .body(body)
        .send()
        .await
        .map_err(|error| Failure::of(&error).to_string())?;
    let status = response.status();
    if !status.is_success() {
        return Err(format!("status {}", status.as_u16()));
    }
    let answer = read(response).await?;
    if answer.trim_ascii().is_empty() {
        return Ok(Said::default());
    }
    let answer = Json::parse(&answer).map_err(|error| format!("not usable: {error}"))?;
    said(&answer).map_err(|error| format!("not usable: {error}"))
}

fn body(call: &Conversation, metadata: &Metadata) -> String {
    let scene = Scene::of(call);
    let number = |number: Option<String>| number.map_or(Json::Null, Json::String);
    let (customer, own) = &scene.numbers;
    let metadata = Json::parse(metadata.as_json_text().as_bytes());
    Json::object([
        ("direction", Json::from(scene.direction.as_str())),
        ("channel", Json::from(scene.channel.as_str())),
        (
            "customer_number",
            number(customer.as_ref().map(ToString::to_string)),
        ),
        (
            "agent_number",
            number(own.as_ref().map(ToString::to_string)),
        ),
        ("agent_id", Json::String(call.agent_id.to_string())),
        ("call_id", Json::String(scene.call_id())),
        ("metadata", metadata.unwrap_or(Json::Null)),
    ])
    .to_compact()
}

async fn read(mut response: Response) -> Result<Vec<u8>, String> {
    let mut body = Vec::new();
    let broken = |error: reqwest::Error| Failure::of(&error).to_string();
    while let Some(chunk) = response.chunk().await.map_err(broken)? {
        if body.len() + chunk.len() > MAX_ANSWER_BYTES {
            return Err(format!("more than {MAX_ANSWER_BYTES} bytes"));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// Members that this version does not know are ignored.
fn said(answer: &Json) -> Result<Said, FieldError> {
    let mut fields = Fields::of(answer, "")?;
    let variables = fields.present("variables");
    let variables = variables.map(|json| Metadata::from_json(json, "variables"));
    let language = fields.optional_string("language", 1..=35)?;
    let language = match language {
        Some(tag) if !is_bcp47_shape(tag) => return Err(fields.fault("language", Fault::Language)),
        language => language.map(str::to_owned),
    };
    let agent = fields.optional_string("agent_id", 1..=255)?;
    let agent = agent.map(str::to_owned);
    let refusal = match fields.optional_object("refuse")? {
        None => None,
        Some(mut refusal) => {
            let reason = refusal.required_string("reason", 1..=MAX_REASON_CHARS)?;
            Some(reason.to_owned())
        }
    };
    Ok(Said {
        variables: variables.transpose()?,
        language,
        agent,
        refusal,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_from(text: &str) -> Result<Said, String> {
        let json = Json::parse(text.as_bytes()).unwrap();
        said(&json).map_err(|fault| fault.to_string())
    }

    #[test]
    fn an_answer_is_read_member_by_member_and_what_is_unknown_is_ignored() {
        assert_eq!(read_from("{}"), Ok(Said::default()));
        let variables = Metadata::from_stored(r#"{"tier":"gold"}"#).unwrap();
        let said = Said {
            variables: Some(variables),
            language: Some("es-MX".to_owned()),
            agent: Some("any".to_owned()),
            refusal: None,
        };
        let answer = r#"{"variables":{"tier":"gold"},"language":"es-MX","agent_id":"any","refuse":null,"x":1}"#;
        assert_eq!(read_from(answer), Ok(said));
        for (answer, fault) in [
            (r#"[]"#, "the body: must be an object"),
            (
                r#"{"variables":{"a":[]}}"#,
                "`variables.a`: must be a string, a number, true, false or null",
            ),
            (
                r#"{"language":"español"}"#,
                "`language`: must be a BCP 47 language tag, such as es-MX",
            ),
            (r#"{"agent_id":7}"#, "`agent_id`: must be a string"),
            (r#"{"refuse":{}}"#, "`refuse.reason`: is required"),
        ] {
            assert_eq!(read_from(answer), Err(fault.to_owned()), "{answer}");
        }
    }
}
