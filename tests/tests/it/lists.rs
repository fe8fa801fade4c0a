//! Lists: pages, cursors, filters and their faults (interface, List envelope; decisions 1.3, 1.8, 1.9, 6.4).

use offhook_tests::{Account, Options, Server, both, text};
use serde_json::{Value, json};

const NUMBERS: [&str; 4] = [
    "+15005550001",
    "+15005550003",
    "+15005550005",
    "+5215512345678",
];

/// Places so many calls and waits for their ends; the newest first.
async fn calls(account: &Account, agent: &str, count: usize) -> Vec<String> {
    let mut handles = Vec::new();
    for n in 0..count {
        handles.push(account.call(agent, NUMBERS[n % NUMBERS.len()]).await);
    }
    for handle in &handles {
        account.ended(handle).await;
    }
    handles.reverse();
    handles
}

fn handles(list: &Value) -> Vec<String> {
    let data = list["data"].as_array().into_iter().flatten();
    data.map(|item| text(&item["call_id"]).to_owned()).collect()
}

/// Every page of a list, one after the other.
async fn pages(account: &Account, target: &str) -> Vec<String> {
    let (mut all, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = account.read(&format!("{target}{cursor}")).await;
        all.extend(handles(&page));
        match page["next_cursor"].as_str() {
            Some(next) => {
                assert_eq!(page["has_more"], true);
                cursor = format!("&cursor={next}");
            }
            None => {
                assert_eq!(page["has_more"], false);
                return all;
            }
        }
    }
}

both! {
    async fn pages_hold_every_row_once_whatever_comes_meanwhile(database: Database) {
        let server = Server::start(Options::on(database)).await;
        let account = server.account("scale").await;
        let agent = account.agent().await;
        let all = calls(&account, &agent, 9).await;
        for limit in [1, 2, 4, 9, 10, 100] {
            for list in ["/v1/calls", "/v1/conversations"] {
                assert_eq!(
                    pages(&account, &format!("{list}?limit={limit}")).await,
                    all,
                    "{list} by {limit}"
                );
            }
        }
        assert_eq!(handles(&account.read("/v1/calls").await), all);
        let first = account.read("/v1/calls?limit=3").await;
        calls(&account, &agent, 2).await;
        let cursor = text(&first["next_cursor"]);
        let rest = account
            .read(&format!("/v1/calls?limit=100&cursor={cursor}"))
            .await;
        assert_eq!(handles(&rest), all[3..]);
    }

    async fn filters_choose_rows(database: Database) {
        let server = Server::start(Options::on(database)).await;
        let account = server.account("scale").await;
        let (agent, other) = (account.agent().await, account.agent().await);
        let others = calls(&account, &other, 1).await;
        let mine = calls(&account, &agent, 4).await;
        let completed = account.call(&agent, "+5215512345678").await;
        account.ended(&completed).await;
        let at =
            text(&account.read(&format!("/v1/calls/{}", mine[1])).await["started_at"]).to_owned();
        let today = &at[..10];
        let mut all = vec![completed.clone()];
        all.extend(mine.iter().cloned());
        let with_others = [all.as_slice(), &others].concat();
        // The calls were placed to 0001, 0003, 0005 and a person, and are listed newest first.
        let to_person = vec![completed.clone(), mine[0].clone()];
        for (filter, expected) in [
            (format!("agent_id={agent}"), all.clone()),
            (format!("agent_id={other}"), others.clone()),
            (
                "agent_id=0190163d-8694-739b-aea5-966c26f8ad91".to_owned(),
                vec![],
            ),
            ("status=completed".to_owned(), to_person.clone()),
            (
                format!("status=failed&agent_id={agent}"),
                mine[1..].to_vec(),
            ),
            ("status=unknown".to_owned(), vec![]),
            ("channel=phone".to_owned(), with_others.clone()),
            ("channel=widget_voice".to_owned(), vec![]),
            ("phone=%2B5215512345678".to_owned(), to_person.clone()),
            ("phone=%2B15005550003".to_owned(), vec![mine[2].clone()]),
            ("phone=%2B15005559999".to_owned(), vec![]),
            (format!("from={at}&to={at}"), vec![mine[1].clone()]),
            (format!("from={at}&agent_id={agent}"), all[..3].to_vec()),
            (format!("to={at}&agent_id={agent}"), all[2..].to_vec()),
            (format!("from={today}&to={today}"), with_others.clone()),
            ("to=2020-01-01".to_owned(), vec![]),
            ("from=2999-01-01".to_owned(), vec![]),
            (
                format!("from={}", at.replace('Z', "%2B00:00")),
                [&all[..3], &[]].concat(),
            ),
        ] {
            for list in ["/v1/calls", "/v1/conversations"] {
                let found = account.read(&format!("{list}?{filter}")).await;
                assert_eq!(handles(&found), expected, "{list}?{filter}");
            }
        }
        let chat = account.read("/v1/conversations?channel=chat").await;
        assert_eq!(chat["data"], json!([]));
    }

    async fn every_fault_of_a_query_is_named(database: Database) {
        let server = Server::start(Options::on(database)).await;
        let account = server.account("scale").await;
        for (query, message) in [
            ("limit=0", "`limit`: must be an integer from 1 to 100"),
            ("limit=101", "`limit`: must be an integer from 1 to 100"),
            ("limit=x", "`limit`: must be an integer from 1 to 100"),
            ("limit=", "`limit`: must be an integer from 1 to 100"),
            ("limit=-1", "`limit`: must be an integer from 1 to 100"),
            ("limit=1.0", "`limit`: must be an integer from 1 to 100"),
            ("limit=%2B5", "`limit`: must be an integer from 1 to 100"),
            (
                "limit=99999999999999999999",
                "`limit`: must be an integer from 1 to 100",
            ),
            ("limit=1&limit=1", "`limit`: is given more than once"),
            ("cursor=", "`cursor`: must be"),
            ("cursor=x", "`cursor`: must be"),
            ("cursor=AAAA", "`cursor`: must be"),
            ("offset=1", "`offset`: unknown parameter"),
            ("Limit=1", "`Limit`: unknown parameter"),
            (
                "status=done",
                "`status`: must be `completed`, `failed` or `unknown`",
            ),
            ("status=", "`status`: must be"),
            (
                "status=failed&status=failed",
                "`status`: is given more than once",
            ),
            (
                "channel=chat",
                "`channel`: must be `phone`, `widget_voice` or `unknown`",
            ),
            ("agent_id=x", "`agent_id`: must be a UUID"),
            (
                "phone=+15005550001",
                "`phone`: the `+` arrived as a space: write it as %2B in a URL",
            ),
            ("phone=15005550001", "`phone`: must begin with `+`"),
            ("phone=%2B1", "`phone`: must be an E.164"),
            (
                "from=yesterday",
                "`from`: must be an ISO 8601 date or datetime",
            ),
            (
                "from=2026-02-30",
                "`from`: must be an ISO 8601 date or datetime",
            ),
            (
                "to=2026-13-01",
                "`to`: must be an ISO 8601 date or datetime",
            ),
            (
                "from=2026-04-30T18:32:11+02:00",
                "`from`: the `+` arrived as a space: write it as %2B in a URL",
            ),
            (
                "from=2026-05-01&to=2026-04-30",
                "`from`: must not be after `to`",
            ),
            ("phone=%ff", "`phone`: "),
            ("phone=%00", "`phone`: "),
            // The first in documented order, whatever the client's.
            ("x=1&status=done&limit=0", "`limit`"),
            ("status=done&from=x", "`from`"),
        ] {
            let answer = account.get(&format!("/v1/calls?{query}")).send().await;
            let said = answer.assert_error(400, "invalid_query");
            assert!(said.starts_with(message), "{query}: {said}");
        }
        // Conversations have every channel.
        for channel in [
            "phone",
            "widget_voice",
            "chat",
            "widget_chat",
            "whatsapp",
            "unknown",
        ] {
            account
                .read(&format!("/v1/conversations?channel={channel}"))
                .await;
        }
        for target in [
            "/v1/me?x=1",
            "/v1/models?x=1",
            "/v1/agents?limit=0",
            "/v1/webhooks?status=enabled",
        ] {
            account
                .get(target)
                .send()
                .await
                .assert_error(400, "invalid_query");
        }
    }

    async fn a_cursor_is_good_for_its_list_with_its_filters_alone(database: Database) {
        let server = Server::start(Options::on(database)).await;
        let account = server.account("scale").await;
        let agent = account.agent().await;
        let all = calls(&account, &agent, 3).await;
        let page = account.read("/v1/calls?limit=1&status=failed").await;
        let cursor = text(&page["next_cursor"]).to_owned();
        let ask = async |target: &str| account.get(target).send().await;
        let good = ask(&format!("/v1/calls?status=failed&cursor={cursor}&limit=50"))
            .await
            .assert(200);
        assert_eq!(handles(&good), all[1..]);
        let mut garbled = cursor.clone().into_bytes();
        garbled[10] = if garbled[10] == b'A' { b'B' } else { b'A' };
        let garbled = String::from_utf8_lossy(&garbled).into_owned();
        for target in [
            format!("/v1/calls?cursor={cursor}"),
            format!("/v1/calls?status=completed&cursor={cursor}"),
            format!("/v1/calls?status=failed&phone=%2B15005550001&cursor={cursor}"),
            format!("/v1/conversations?status=failed&cursor={cursor}"),
            format!("/v1/agents?cursor={cursor}"),
            format!("/v1/calls?status=failed&cursor={garbled}"),
            format!(
                "/v1/calls?status=failed&cursor={}",
                &cursor[..cursor.len() - 1]
            ),
            format!("/v1/calls?status=failed&cursor={cursor}A"),
            format!("/v1/calls?status=failed&cursor={cursor}&cursor={cursor}"),
        ] {
            let said = ask(&target).await.assert_error(400, "invalid_query");
            assert!(said.starts_with("`cursor`"), "{target}: {said}");
        }
        // Another account's cursor shows nothing of it.
        let stranger = server.account("scale").await;
        let theirs = stranger
            .read(&format!("/v1/calls?status=failed&cursor={cursor}"))
            .await;
        assert_eq!(theirs["data"], json!([]));
    }

    async fn the_model_catalog_needs_no_key(database: Database) {
        let server = Server::start(Options::on(database)).await;
        let client = server.client();
        let all = client.read("/v1/models?limit=100").await;
        let models = all["data"].as_array().cloned().unwrap_or_default();
        assert_eq!(
            (&all["has_more"], &all["next_cursor"]),
            (&json!(false), &json!(null))
        );
        let scripted = models.iter().find(|model| model["provider"] == "scripted");
        let prices: Vec<_> = ["free", "starter", "pro", "scale", "enterprise"]
            .iter()
            .map(|plan| {
                scripted
                    .map(|model| model["prices"].as_array().cloned().unwrap_or_default())
                    .unwrap_or_default()
                    .into_iter()
                    .find(|price| price["plan"] == *plan)
            })
            .collect();
        let members: Vec<_> = scripted
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
            .map(|(n, _)| n.as_str())
            .collect();
        assert_eq!(
            members,
            [
                "id",
                "kind",
                "provider",
                "model",
                "name",
                "languages",
                "prices"
            ]
        );
        assert!(
            prices[1..4].iter().all(|price| {
                price
                    .as_ref()
                    .is_some_and(|price| price["credits_per_minute"].as_f64() == Some(0.0))
            }),
            "{prices:?}"
        );
        for kind in ["llm", "stt", "tts"] {
            let some = client
                .read(&format!("/v1/models?kind={kind}&limit=100"))
                .await;
            let expected: Vec<_> = models
                .iter()
                .filter(|model| model["kind"] == kind)
                .cloned()
                .collect();
            assert_eq!(some["data"], json!(expected));
        }
        let one = client.read("/v1/models?provider=openai&limit=1").await;
        assert_eq!(one["has_more"], true);
        let next = client
            .read(&format!(
                "/v1/models?provider=openai&cursor={}",
                text(&one["next_cursor"])
            ))
            .await;
        assert_ne!(one["data"][0], next["data"][0]);
        client
            .get("/v1/models?kind=x")
            .send()
            .await
            .assert_error(400, "invalid_query");
    }
}
