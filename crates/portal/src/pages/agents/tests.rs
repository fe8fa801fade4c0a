//! An agent's scenarios, and the runs that test it with them.

use maud::{Markup, html};
use offhook_domain::json::{FieldError, Json};
use offhook_domain::{CheckResult, ConversationId, MemberRole, ScenarioId, TestRunId, TestStatus};
use offhook_services::store::TestRun;
use offhook_services::{AgentView, PageRequest, Progress, ScenarioView, UseCaseError};
use serde_json::Value;

use super::document::{parse, pretty, unix_lines};
use super::{engine_agent, refused_tab, tabbed};
use crate::PATH;
use crate::lang::Lang;
use crate::parts::form::{danger, form, kept, refusal};
use crate::parts::list::{self, Table};
use crate::parts::words::{Tone, badge, when};
use crate::trouble::{Answer, Result};
use crate::visit::{Developer, Post, Viewer, Visit, Visitor};

/// Scenarios and runs that are listed: all scenarios that an agent may have, and the latest runs.
const SCENARIOS: u32 = 200;
const RUNS: u32 = 20;

/// What a new scenario begins with.
const EXAMPLE: &str = r#"{
  "name": "Asks for the opening hours",
  "suite": "release",
  "turns": ["When do you open?", "Thanks, bye."],
  "tools": [],
  "checks": [
    { "kind": "never_said", "text": "I don't know" },
    { "kind": "judge", "rubric": "The agent says when it opens, or that it will find out." }
  ]
}"#;

const FIELD: &str = "scenario";
const LABELS: [(&str, &str); 1] = [(FIELD, "JSON")];

/// `GET /portal/agents/{id}/tests`
pub(super) async fn show(visit: Visit<Viewer>) -> Answer {
    let view = engine_agent(&visit).await?;
    let (t, agent) = (visit.lang(), &view.agent);
    let service = visit.services().scenarios();
    let all = PageRequest {
        after: None,
        limit: SCENARIOS,
    };
    let found = service.list(visit.account(), Some(agent.id), all).await?;
    let latest = PageRequest {
        after: None,
        limit: RUNS,
    };
    let runs = service.runs(visit.account(), agent.id, latest).await?;
    let may = visit.may(MemberRole::Developer);
    let base = format!("{PATH}/agents/{}/tests", agent.id);
    let body = html! {
        p.lead { (t.t(
            "A scenario is a conversation that is held with the agent, and what must be so afterwards. Tools answer what the scenario says and do nothing, unless it says live. Test conversations cost no credits.",
            "Un escenario es una conversación que se tiene con el agente y lo que debe cumplirse después. Las herramientas contestan lo que dice el escenario y no hacen nada, salvo las marcadas live. Las conversaciones de prueba no cuestan créditos.",
        )) }
        @if may {
            div.page-actions {
                a.button href={ (base) "/new" } { (t.t("New scenario", "Escenario nuevo")) }
                @if !found.items.is_empty() {
                    (form(&visit, &format!("/agents/{}/tests", agent.id), &html! {
                        button.primary type="submit" { (t.t("Test version ", "Probar la versión ")) (agent.head_version) }
                    }))
                }
            }
        }
        @if found.items.is_empty() {
            (list::empty(t.t("No scenarios yet", "Aún no hay escenarios"), t.t(
                "Write one, or make one of a conversation: its page has the button.",
                "Escribe uno o créalo a partir de una conversación: su página tiene el botón.",
            ), None))
        } @else { (scenarios(&found.items, &base, t)) }
        @if !runs.items.is_empty() {
            h2 { (t.t("Runs", "Ejecuciones")) }
            (Table::of(t.t("Runs", "Ejecuciones"), &runs.items)
                .column(t.t("Began", "Comenzó"), |run| html! { a href={ (base) "/runs/" (run.id) } { (when(run.created_at)) } })
                .column(t.t("Version", "Versión"), |run| run.version)
                .column(t.t("Result", "Resultado"), |run| state(run.status, t))
                .number(t.t("Passed", "Aprobados"), |run| format!("{} / {}", run.passed, run.total)))
        }
    };
    Ok(tabbed(&visit, agent, "tests", &body))
}

fn scenarios(all: &[ScenarioView], base: &str, t: Lang) -> Markup {
    html! {
        (Table::of(t.t("Scenarios", "Escenarios"), all)
            .column(t.t("Scenario", "Escenario"), |view| html! { a href={ (base) "/" (view.row.id) } { (view.row.name) } })
            .column(t.t("Suite", "Grupo"), |view| view.row.suite.as_deref().unwrap_or("–"))
            .column(t.t("Caller", "Quien llama"), |view| match (&view.scenario.turns, view.scenario.recording) {
                (Some(lines), _) => format!("{} {}", lines.len(), t.t("lines", "líneas")),
                (None, Some(_)) => t.t("A recording", "Una grabación").to_owned(),
                (None, None) => t.t("Played by the model", "Lo interpreta el modelo").to_owned(),
            })
            .number(t.t("Checks", "Comprobaciones"), |view| view.scenario.checks.len())
            .number(t.t("Conversations", "Conversaciones"), |view| view.scenario.runs))
    }
}

fn state(status: TestStatus, t: Lang) -> Markup {
    let (tone, word) = match status {
        TestStatus::Running => (Tone::Busy, "Running"),
        TestStatus::Passed => (Tone::Good, "Passed"),
        TestStatus::Failed => (Tone::Bad, "Failed"),
        TestStatus::Error => (Tone::Bad, "Error"),
        TestStatus::Interrupted => (Tone::Plain, "Interrupted"),
        TestStatus::Cancelled => (Tone::Plain, "Cancelled"),
    };
    badge(tone, t.t(word, status.in_spanish()))
}

/// `POST /portal/agents/{id}/tests`: tests the latest version with all of the agent's scenarios.
pub(super) async fn run(post: Post<Developer>) -> Answer {
    let view = engine_agent(&post).await?;
    let service = post.services().scenarios();
    let nothing = Json::Object(Vec::new());
    match service.run(post.caller(), view.agent.id, &nothing).await {
        Ok(progress) => {
            let path = format!("/agents/{}/tests/runs/{}", view.agent.id, progress.run.id);
            Ok(post.go(&path, post.t("The test has begun.", "La prueba comenzó.")))
        }
        Err(error) => {
            let message = post.message_of(error, &LABELS)?;
            Ok(refused_tab(
                &post,
                &view.agent,
                "tests",
                &refusal(Some(&message)),
            ))
        }
    }
}

/// `GET /portal/agents/{id}/tests/new`, which may name a conversation to begin with.
pub(super) async fn new(visit: Visit<Developer>) -> Answer {
    let view = engine_agent(&visit).await?;
    let conversation: Option<ConversationId> = visit.query().text("conversation").parse().ok();
    let (begins, message) = match conversation {
        None => (EXAMPLE.to_owned(), None),
        Some(id) => {
            let service = visit.services().scenarios();
            match service.of_conversation(visit.account(), id).await {
                Ok((_, scenario)) => (pretty(&scenario.to_json()), None),
                Err(error) => (EXAMPLE.to_owned(), Some(visit.message_of(error, &LABELS)?)),
            }
        }
    };
    let body = editor(&visit, &view, None, &begins, message.as_deref());
    Ok(tabbed(&visit, &view.agent, "tests", &body))
}

/// `GET /portal/agents/{id}/tests/{scenario}`
pub(super) async fn edit(visit: Visit<Viewer>) -> Answer {
    let (view, stored) = stored(&visit).await?;
    let text = pretty(&stored.scenario.to_json());
    let body = editor(&visit, &view, Some(stored.row.id), &text, None);
    Ok(tabbed(&visit, &view.agent, "tests", &body))
}

async fn stored(visitor: &Visitor) -> Result<(AgentView, ScenarioView)> {
    let view = engine_agent(visitor).await?;
    let id: ScenarioId = visitor.id("scenario")?;
    let stored = visitor
        .services()
        .scenarios()
        .get(visitor.account(), id)
        .await?;
    match stored.row.agent_id == view.agent.id {
        true => Ok((view, stored)),
        false => Err(crate::trouble::Trouble::not_found()),
    }
}

fn editor(
    visitor: &Visitor,
    view: &AgentView,
    id: Option<ScenarioId>,
    text: &str,
    message: Option<&str>,
) -> Markup {
    let t = visitor.lang();
    let base = format!("/agents/{}/tests", view.agent.id);
    let path = id.map_or_else(|| format!("{base}/new"), |id| format!("{base}/{id}"));
    html! {
        (refusal(message))
        p { a href={ (PATH) (base) } { (t.t("All scenarios", "Todos los escenarios")) } }
        @if visitor.may(MemberRole::Developer) {
            (kept(visitor, &path, &html! {
                div.field {
                    label for="field-scenario" { (t.t("Scenario (JSON)", "Escenario (JSON)")) }
                    textarea #field-scenario name=(FIELD) rows="24" spellcheck="false" required data-json aria-describedby="field-scenario-hint" {
                        "\n" (unix_lines(text))
                    }
                    p.hint #field-scenario-hint { (t.t(
                        "The caller says the turns one by one; with a persona and a goal in their place, the agent's model plays the caller. Checks: said, never_said, tool_called, tool_never_called, tools_in_order, ended, latency, analysis, honest, judge.",
                        "Quien llama dice los turns uno por uno; con persona y goal en su lugar, el modelo del agente hace de quien llama. Comprobaciones: said, never_said, tool_called, tool_never_called, tools_in_order, ended, latency, analysis, honest, judge.",
                    )) }
                }
                button.primary type="submit" { (t.t("Save", "Guardar")) }
            }))
            @if let Some(id) = id {
                (danger(visitor, &format!("{base}/{id}/delete"), t.t("Delete scenario", "Borrar escenario"), t.t(
                    "Delete this scenario? Its results in earlier runs stay.",
                    "¿Borrar este escenario? Sus resultados en ejecuciones anteriores se conservan.",
                )))
            }
        } @else { pre.document tabindex="0" { (crate::parts::json::colored(text)) } }
    }
}

/// `POST /portal/agents/{id}/tests/new`
pub(super) async fn create(post: Post<Developer>) -> Answer {
    let view = engine_agent(&post).await?;
    save(&post, &view, None).await
}

/// `POST /portal/agents/{id}/tests/{scenario}`
pub(super) async fn replace(post: Post<Developer>) -> Answer {
    let (view, stored) = stored(&post).await?;
    save(&post, &view, Some(stored)).await
}

async fn save(post: &Post<Developer>, view: &AgentView, stored: Option<ScenarioView>) -> Answer {
    let service = post.services().scenarios().by(post.person.actor());
    let text = unix_lines(post.fields.raw(FIELD));
    let id = stored.as_ref().map(|stored| stored.row.id);
    let saved = async {
        let wanted = parse(&text).map_err(|fault| FieldError::new(FIELD, fault))?;
        let account = post.account();
        match id {
            // Whatever is left out takes its default, as in a new one.
            Some(id) => service.replace(account, id, &wanted).await,
            None => {
                let mut members = wanted.as_object().unwrap_or_default().to_vec();
                members.retain(|(name, _)| name != "agent_id");
                members.push((
                    "agent_id".to_owned(),
                    Json::from(view.agent.id.to_string().as_str()),
                ));
                service.create(account, &Json::Object(members)).await
            }
        }
    };
    match saved.await {
        Ok(saved) => {
            let action = if id.is_some() {
                "scenario.update"
            } else {
                "scenario.create"
            };
            let path = format!("/agents/{}/tests", view.agent.id);
            let message = post.t("Scenario saved.", "Escenario guardado.");
            post.done(action, saved.row.id, &path, message).await
        }
        Err(error) => {
            let message = post.message_of(error, &LABELS)?;
            let body = editor(post, view, id, &text, Some(&message));
            Ok(refused_tab(post, &view.agent, "tests", &body))
        }
    }
}

/// `POST /portal/agents/{id}/tests/{scenario}/delete`
pub(super) async fn delete(post: Post<Developer>) -> Answer {
    let (view, stored) = stored(&post).await?;
    let service = post.services().scenarios().by(post.person.actor());
    service.delete(post.account(), stored.row.id).await?;
    let path = format!("/agents/{}/tests", view.agent.id);
    let message = post.t("Scenario deleted.", "Escenario borrado.");
    post.done("scenario.delete", stored.row.id, &path, message)
        .await
}

/// `GET /portal/agents/{id}/tests/runs/{run}`
pub(super) async fn progress(visit: Visit<Viewer>) -> Answer {
    let view = engine_agent(&visit).await?;
    let run: TestRunId = visit.id("run")?;
    let service = visit.services().scenarios();
    let progress = service
        .progress(visit.caller(), (view.agent.id, run))
        .await?;
    let body = drawn(&visit, &progress);
    if visit.query().is_set("part") {
        return Ok(visit.part(&body));
    }
    Ok(tabbed(&visit, &view.agent, "tests", &body))
}

/// `POST /portal/agents/{id}/tests/runs/{run}/cancel`
pub(super) async fn cancel(post: Post<Developer>) -> Answer {
    let view = engine_agent(&post).await?;
    let run: TestRunId = post.id("run")?;
    let path = format!("/agents/{}/tests/runs/{run}", view.agent.id);
    let service = post.services().scenarios();
    let words = match service.cancel(post.account(), (view.agent.id, run)).await {
        Ok(_) => post.t("The test was cancelled.", "La prueba se canceló."),
        Err(UseCaseError::Conflict(_)) => {
            post.t("The test had ended.", "La prueba ya había terminado.")
        }
        Err(error) => return Err(error.into()),
    };
    Ok(post.go(&path, words))
}

fn drawn(visitor: &Visitor, Progress { run, results }: &Progress) -> Markup {
    let t = visitor.lang();
    let base = format!("{PATH}/agents/{}/tests", run.agent_id);
    let from = format!("{base}/runs/{}?part=on", run.id);
    let is_on = run.status == TestStatus::Running;
    html! {
        section #run hx-get=[is_on.then_some(&from)] hx-trigger=[is_on.then_some("every 1s")] hx-swap="outerHTML" {
            p { a href=(base) { (t.t("All scenarios", "Todos los escenarios")) } }
            (summary(run, t))
            @if is_on && visitor.may(MemberRole::Developer) {
                (form(visitor, &format!("/agents/{}/tests/runs/{}/cancel", run.agent_id, run.id), &html! {
                    button type="submit" { (t.t("Cancel", "Cancelar")) }
                }))
            }
            @for result in results {
                @let conversations: Vec<Value> = serde_json::from_str(&result.detail).unwrap_or_default();
                details open[result.status != TestStatus::Passed] {
                    summary { (state(result.status, t)) " " (result.name) }
                    @for conversation in &conversations { (held(conversation, t)) }
                }
            }
        }
    }
}

fn summary(run: &TestRun, t: Lang) -> Markup {
    html! {
        p { (state(run.status, t)) " " (run.passed) " / " (run.total) " " (t.t("scenarios passed with version ", "escenarios aprobados con la versión ")) (run.version) ", " (when(run.created_at)) "." }
    }
}

/// A conversation, and what came of its checks.
fn held(conversation: &Value, t: Lang) -> Markup {
    let list =
        |value: &'static str, of: &'_ Value| of[value].as_array().cloned().unwrap_or_default();
    let word = |of: &Value, name: &str| of[name].as_str().unwrap_or_default().to_owned();
    html! {
        @if let Some(error) = conversation["error"].as_str() { p.error { (error) } }
        ul.checks {
            @for check in list("checks", conversation) {
                @let passes = check["result"] == CheckResult::Pass.as_str();
                li { (badge(if passes { Tone::Good } else { Tone::Bad }, &word(&check, "kind"))) " " (word(&check, "detail")) }
            }
        }
        @let before = list("before", &conversation["played"]);
        @let lines = list("transcript", &conversation["played"]);
        @if !before.is_empty() {
            h3 { (t.t("Then", "Entonces")) }
            (said(&before, t))
            h3 { (t.t("Now", "Ahora")) }
        }
        @if !lines.is_empty() { (said(&lines, t)) }
    }
}

/// The lines of a conversation, with the seconds by sound.
fn said(lines: &[Value], t: Lang) -> Markup {
    html! {
        @for line in lines {
            p {
                strong { @match line["role"].as_str() {
                    Some("agent") => (t.t("Agent", "Agente")),
                    Some("user") => (t.t("Caller", "Quien llama")),
                    _ => (t.t("Tool", "Herramienta")),
                } }
                " "
                @if let Some(ms) = line["at_ms"].as_u64() { span.soft { (format!("{:.1} s", ms as f64 / 1_000.0)) } " " }
                (line["text"].as_str().unwrap_or_default())
                @if line["interrupted"] == true { " " (badge(Tone::Busy, t.t("interrupted", "interrumpido"))) }
            }
        }
    }
}
