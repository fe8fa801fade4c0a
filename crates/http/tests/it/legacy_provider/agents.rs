//! Legacy agents as their provider lists them: synchronized, renamed there, and with the numbers that they call from.

use std::sync::Arc;
use std::time::Duration;

use offhook_domain::CredentialProvider;
use offhook_providers::ElevenLabsAgents;
use offhook_testkit::TestDatabase;
use offhook_testkit::fakes::elevenlabs::{self as fake, AGENT, ElevenLabs, KEY, NUMBER};
use offhook_testkit::upstream::{Fault, UPSTREAM_WORDS};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{BRISK, LIMIT, World, until};
use crate::it::app::{CUSTOMER, Setup, TestApp, run_calls, text};
use crate::it::client::must;

both! {
    async fn a_process_that_stops_waits_for_no_list_of_agents(database) {
        let fake = ElevenLabs::start().await;
        fake.upstream().fail("GET", "/v1/convai/", Fault::Slow(LIMIT), 1_000);
        let provider = must(ElevenLabsAgents::new(&fake.base_url()));
        let app = TestApp::with(Setup {
            legacy: Some(Arc::new(provider)),
            database: Some(database),
            ..Setup::default()
        })
        .await;
        let credentials = app.services.credentials();
        must(credentials.set(app.account, CredentialProvider::Legacy, KEY).await);
        let stop = CancellationToken::new();
        let running = tokio::spawn(run_calls(&app.services, stop.clone()));
        until("the question", || async {
            (!fake.upstream().asked_of("GET", "/v1/convai/").is_empty()).then_some(())
        })
        .await;
        stop.cancel();
        // A single request alone would take longer.
        let stopped = tokio::time::timeout(Duration::from_secs(10), running).await;
        assert!(stopped.is_ok(), "it waits for the provider");
    }

    async fn a_list_that_breaks_off_changes_nothing_and_the_next_whole_one_does(database) {
        let world = World::start(database, BRISK).await;
        let names = async || {
            let list = world.app.read("/v1/agents?runtime=legacy").await;
            let data = list["data"].as_array().cloned().unwrap_or_default();
            let mut names: Vec<_> = data.iter().map(|agent| (text(&agent["name"]), text(&agent["status"]))).collect();
            names.sort();
            names
        };
        let one = vec![("Reception".to_owned(), "active".to_owned())];
        assert_eq!(names().await, one);
        {
            let mut state = world.fake.state();
            let agents = &mut state.workspaces.get_mut(KEY).unwrap().agents;
            agents.clear();
            agents.insert("agent_0002".to_owned(), fake::agent("agent_0002", "Reminders"));
        }
        for (path, fault) in [
            ("/v1/convai/agents", Fault::Status(401)),
            ("/v1/convai/agents/", Fault::CutBody),
            ("/v1/convai/phone-numbers", Fault::RetryAfter(429, 1)),
        ] {
            world.fake.upstream().fail("GET", path, fault, 1);
            let error = world.app.services.legacy().sync(world.app.account).await.unwrap_err();
            assert!(!error.to_string().contains(UPSTREAM_WORDS), "{error}");
            assert_eq!(names().await, one, "{path}");
        }
        let synced = must(world.app.services.legacy().sync(world.app.account).await);
        assert_eq!((synced.listed, synced.added, synced.archived), (1, 1, 1));
        let both = [("Reception", "archived"), ("Reminders", "active")];
        assert_eq!(names().await, both.map(|(name, status)| (name.to_owned(), status.to_owned())));
        let numbers = world.app.read("/v1/phone-numbers").await;
        assert_eq!(numbers["data"][0]["provider"], "twilio");
        world.books_add_up().await;
    }

    async fn what_no_database_keeps_and_what_names_no_language_costs_no_list_of_agents(database) {
        let world = World::start(database, BRISK).await;
        {
            let mut state = world.fake.state();
            let agent = state.workspaces.get_mut(KEY).unwrap().agents.get_mut(AGENT).unwrap();
            agent["name"] = json!("Na\0me");
            let spoken = &mut agent["conversation_config"]["agent"];
            spoken["prompt"]["prompt"] = json!("You\0 answer.");
            spoken["language"] = json!("e".repeat(1_000));
        }
        let synced = must(world.app.services.legacy().sync(world.app.account).await);
        assert_eq!((synced.listed, synced.archived), (1, 0));
        let list = world.app.read("/v1/agents?runtime=legacy").await;
        let listed = &list["data"][0];
        assert_eq!((&listed["name"], &listed["language"]), (&json!("Name"), &json!("en")));
        let one = format!("/v1/agents/{}", text(&listed["id"]));
        let config = world.app.read(&one).await["config"].clone();
        assert_eq!((&config["system_prompt"], &config["language"]), (&json!("You answer."), &Value::Null));
        world.books_add_up().await;
    }

    async fn an_agent_calls_from_a_number_that_its_runtime_has_or_is_told_what_to_do(database) {
        let world = World::start(database, BRISK).await;
        {
            let mut state = world.fake.state();
            let agents = &mut state.workspaces.get_mut(KEY).unwrap().agents;
            agents.insert("agent_0002".to_owned(), fake::agent("agent_0002", "Reminders"));
        }
        must(world.app.services.legacy().sync(world.app.account).await);
        let place = async |agent: &str| {
            let placed = world.app.post("/v1/calls", json!({"agent_id": agent, "to": CUSTOMER}));
            placed.await
        };
        let from = async |agent: &str| {
            let handle = text(&place(agent).await.assert(201)["id"]);
            text(&world.app.read(&format!("/v1/calls/{handle}")).await["from"])
        };
        // The provider's number is the account's oldest, but calls of this service do not use it.
        let ours = world.app.agent().await;
        assert_eq!(from(&ours).await, "+15005550100");
        assert_eq!(from("agent_0002").await, NUMBER, "another agent's there is the provider's too");
        let list = world.app.read("/v1/phone-numbers").await;
        assert_eq!(list["data"].as_array().map(Vec::len), Some(1), "{list}");
        let one = format!("/v1/phone-numbers/{}", text(&list["data"][0]["id"]));
        let assign = async |agent: Value| {
            let changed = world.app.patch(&one, json!({"agent_id": agent}));
            changed.await.assert(200);
        };
        assign(Value::Null).await;
        for agent in [AGENT, "agent_0002"] {
            let message = place(agent).await.assert_error(409, "conflict");
            for part in ["legacy agents can call from", "at its provider", "PATCH /v1/phone-numbers/{id}"] {
                assert!(message.contains(part), "{part}: {message}");
            }
        }
        let agents = world.app.read("/v1/agents?runtime=legacy").await;
        let reception = agents["data"].as_array().and_then(|all| all.iter().find(|one| one["name"] == "Reception"));
        let reception = reception.map(|agent| agent["id"].clone()).unwrap();
        let batch = json!({"name": "Spring", "agent_id": reception, "recipients": [{"to": CUSTOMER}]});
        let message = world.app.post("/v1/batch-calls", batch).await.assert_error(409, "conflict");
        assert!(message.contains("legacy agents can call from"), "{message}");
        assign(reception).await;
        assert_eq!(from("agent_0002").await, NUMBER);
    }

    async fn an_agent_is_renamed_at_its_provider_or_not_at_all(database) {
        let world = World::start(database, BRISK).await;
        let list = world.app.read("/v1/agents?runtime=legacy").await;
        let one = format!("/v1/agents/{}", text(&list["data"][0]["id"]));
        for fault in [Fault::Status(401), Fault::Status(500), Fault::Close] {
            world.fake.upstream().fail("PATCH", "/", fault, 1);
            let refused = world.app.patch(&one, json!({"name": "Front"})).await;
            let message = refused.assert_error(502, "upstream_error");
            assert!(!message.contains(UPSTREAM_WORDS), "{message}");
            assert_eq!(world.app.read(&one).await["name"], "Reception");
        }
        let renamed = world.app.patch(&one, json!({"name": "Front"})).await.assert(200);
        assert_eq!(renamed["name"], "Front");
        assert_eq!(world.fake.state().workspaces[KEY].agents[AGENT]["name"], "Front");
        world.books_add_up().await;
    }
}
