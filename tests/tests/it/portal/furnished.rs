//! An account with one of everything, whose every text comes from an attacker, or from a customer where it is looked at.

use std::time::Duration;

use offhook_tests::{Receiver, eventually, text};
use serde_json::{Value, json};

use super::session::Session;
use super::stage::{Stage, page};
use crate::legacy;

/// Runs if it becomes part of a page.
pub(super) const SCRIPT: &str = "<img src=x onerror=alert(1)>";

/// A member who has not signed in yet.
const EVE: &str = "eve@harbour.example";

const LIMIT: Duration = Duration::from_secs(30);

/// The ids of all resources.
pub(super) struct Furnished {
    pub(super) agent: String,
    pub(super) legacy: String,
    pub(super) conversation: String,
    pub(super) chat: String,
    pub(super) batch: String,
    pub(super) campaign: String,
    pub(super) number: String,
    pub(super) tool: String,
    pub(super) endpoint: String,
    pub(super) delivery: String,
    pub(super) document: String,
    pub(super) folder: String,
    pub(super) log: String,
    pub(super) scenario: String,
    pub(super) run: String,
    key: String,
    /// The pages of a password link and of an invitation.
    welcome: String,
    join: String,
}

impl Furnished {
    /// Fills the stage's account. `odd` is in each of its texts; where it is empty, they are a customer's.
    pub(super) async fn of(stage: &Stage, owner: &Session, odd: &'static str) -> Self {
        let says = |usual: &'static str| if odd.is_empty() { usual } else { odd };
        let titled = |name: &str| format!("{name} {odd}").trim_end().to_owned();
        let account = &stage.account;
        let make = async |path: &str, body: Value, status: u16| {
            account.post(path, body).await.assert(status)
        };
        let id = |made: &Value| text(&made["id"]).to_owned();

        // Responds with the text and an error: the portal shows the response with each attempt.
        let receiver = Receiver::saying(500, says("Internal Server Error")).await;
        let endpoint = json!({"url": receiver.url("/hook"), "description": says("Reservations")});
        let endpoint = id(&make("/v1/webhooks", endpoint, 201).await);

        let tool = json!({"name": "keys", "description": says("Press a key in a phone menu"), "kind": "dtmf"});
        let tool = id(&make("/v1/agents/tools", tool, 201).await);
        let agent = account.agent_with(json!({
            "system_prompt": format!("You are Eva.\nsay: {}", says("We open at nine.")),
            "first_message": format!("Hello {{{{lead_name}}}} {odd}"),
            "llm": {"provider": "scripted", "model": "scripted"},
            "dynamic_variables": {"lead_name": {"default": says("there")}},
        }));
        let agent = agent.await;
        let change = json!({
            "name": titled("Eva"),
            "config": {"system_prompt": format!("You are Eva, {}.\nsay: Until six.", says("at the front desk of Harbour Hotel"))},
        });
        let path = format!("/v1/agents/{agent}");
        account.patch(&path, change).await.assert(200);

        let scenario = json!({
            "agent_id": agent, "name": titled("Opening hours"), "suite": titled("Release"), "turns": [says("When do you open?")],
            "checks": [{"kind": "said", "text": says("nine")}, {"kind": "never_said", "text": says("Until six")}],
        });
        let scenario = id(&make("/v1/scenarios", scenario, 201).await);
        let runs = format!("/v1/agents/{agent}/test-runs");
        let run = id(&make(&runs, json!({}), 201).await);
        eventually("the run", LIMIT, || async {
            let run = account.read(&format!("{runs}/{run}")).await;
            (run["status"] != "running").then_some(())
        })
        .await;

        let call = json!({
            "agent_id": agent, "to": "+14155550123", "metadata": {"lead_name": says("Ana"), says("room"): says("201")},
        });
        let call = id(&make("/v1/calls", call, 201).await);
        account.ended(&call).await;
        let conversation = call.trim_start_matches("call_").to_owned();

        // A list of a few rows says more than a list of one.
        for (place, number) in [
            "+14155550131",
            "+14155550132",
            "+15005550002",
            "+14155550133",
            "+15005550003",
        ]
        .iter()
        .enumerate()
        {
            if odd.is_empty() {
                let name = ["Ben", "Carla", "Diego", "Elena", "Farid"][place];
                let call =
                    json!({"agent_id": agent, "to": number, "metadata": {"lead_name": name}});
                account
                    .ended(&id(&make("/v1/calls", call, 201).await))
                    .await;
            }
        }

        let begun = owner.post(
            "/portal/try/chat",
            &[
                ("agent", &agent),
                ("metadata", &format!("name={}", says("Ana"))),
            ],
        );
        let begun = begun.await;
        let chat = begun.header("location").unwrap_or_default();
        let chat = chat.rsplit('/').next().unwrap_or_default().to_owned();
        let said = format!("/portal/try/chat/{chat}/messages");
        let message = [("text", says("When do you open?")), ("message_id", "first")];
        assert_eq!(owner.post(&said, &message).await.status, 303);

        let number = json!({"phone_number": "+15005550123", "label": says("Front desk")});
        let number = id(&make("/v1/phone-numbers", number, 201).await);
        let suppressed = json!({"number": "+14155550199", "reason": says("Asked by letter.")});
        make("/v1/suppressions", suppressed, 201).await;
        let folder = id(&make(
            "/v1/knowledge/folders",
            json!({"name": says("Guests")}),
            201,
        )
        .await);
        let document = json!({"name": titled("Hours"), "folder_id": folder, "text": format!("We open at nine. {odd}")});
        let document = id(&make("/v1/knowledge/documents", document, 202).await);

        let legacy = legacy::agents(&stage.server, account).await;
        let legacy = id(&legacy[0]);
        let batch = json!({
            "name": titled("Spring"), "agent_id": legacy,
            "recipients": [{"to": "+14155550124", "metadata": {"name": says("Ana")}}],
        });
        let batch = id(&make("/v1/batch-calls", batch, 202).await);
        let campaign = json!({"name": titled("Spring"), "agent_id": agent});
        let campaign = id(&make("/v1/campaigns", campaign, 201).await);
        let recipients = json!({"recipients": [{"to": "+14155550124", "name": says("Ana"), "variables": {"room": says("201")}}]});
        make(
            &format!("/v1/campaigns/{campaign}/recipients"),
            recipients,
            201,
        )
        .await;

        let named = ["--account", &account.id, "--name", says("Marta Ruiz")];
        let key = [&["key", "create", "--scopes", "calls:read"], &named[..]].concat();
        let key = id(&stage.server.cli(&key).await);
        let member = async |how: &str, email: &str| {
            let member = ["member", how, "--email", email, "--role", "viewer"];
            let member = [&member[..], &named[..]].concat();
            stage.server.cli(&member).await
        };
        member("add", EVE).await;
        let invited = member("invite", "mallory@harbour.example").await;
        let answer = account.get("/v1/agents/nobody").await;
        answer.assert_error(404, "not_found");

        let newest = async |path: &str| {
            eventually(path, LIMIT, || async {
                let page = account.read(path).await;
                page["data"].get(0).cloned()
            })
            .await
        };
        Self {
            scenario,
            run,
            delivery: id(&newest("/v1/webhooks/deliveries?status=exhausted").await),
            log: text(&newest("/v1/logs?status=4xx").await["request_id"]).to_owned(),
            welcome: stage.link(EVE).await,
            join: page(text(&invited["url"])).to_owned(),
            key,
            agent,
            legacy,
            conversation,
            chat,
            batch,
            campaign,
            number,
            tool,
            endpoint,
            document,
            folder,
        }
    }

    /// A router path with its placeholders filled in.
    ///
    /// # Panics
    /// For an unknown placeholder: a page with a new kind of id needs an entry here.
    pub(super) fn fill(&self, path: &str) -> String {
        let of = |id: &str| path.replace("{id}", id);
        let section = path
            .trim_start_matches("/portal/")
            .split("/{")
            .next()
            .unwrap_or_default();
        match section {
            _ if !path.contains('{') => path.to_owned(),
            "agents" if path.ends_with("/diff") => of(&self.agent) + "?from=1&to=2",
            "agents" => of(&self.agent)
                .replace("{version}", "2")
                .replace("{scenario}", &self.scenario)
                .replace("{run}", &self.run),
            "conversations" => of(&self.conversation),
            "try/chat" => of(&self.chat),
            "batch-calls" => of(&self.batch),
            "campaigns" => of(&self.campaign),
            "phone-numbers" => of(&self.number),
            "tools" => of(&self.tool),
            "developers" => of(&self.key),
            "webhooks" => of(&self.endpoint),
            "webhooks/deliveries" => of(&self.delivery),
            "knowledge/documents" => of(&self.document),
            "knowledge/folders" => of(&self.folder),
            "logs" => of(&self.log),
            "welcome" => self.welcome.clone(),
            "join" => self.join.clone(),
            _ => panic!("{path} has a placeholder that this account has nothing for"),
        }
    }
}
