//! Every fault of a body or a query is named: the table in tests/cases.

use offhook_tests::{Server, both, text};
use serde_json::json;

/// `<a*3>` as `aaa`.
fn repeated(body: &str) -> String {
    let mut pieces = body.split('<');
    let mut whole = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (repeat, rest) = piece.split_once('>').expect("an end of a repetition");
        let (what, times) = repeat.split_once('*').expect("a number of times");
        whole += &what.repeat(times.parse().expect("a number"));
        whole += rest;
    }
    whole
}

both! {
    async fn every_fault_of_a_body_and_of_a_query_is_named(database: Database) {
        let (_server, account) = Server::furnished(database).await;
        let agent = account.agent().await;
        let hook = json!({"url": "http://localhost:9/"});
        let hook = account.post("/v1/webhooks", hook).await.assert(201);
        let before = account.read(&format!("/v1/agents/{agent}")).await;
        let table = include_str!("../../cases/refusals.txt").lines();
        for row in table.filter(|row| !row.starts_with('#')) {
            let row = repeated(row).replace("AGENT", &agent).replace("HOOK", text(&hook["id"]));
            let [request, body, message] = row.split('\t').collect::<Vec<_>>()[..] else {
                panic!("three columns: {row}");
            };
            let (method, target) = request.split_once(' ').expect("a method and a target");
            let mut request = account.request(method, target);
            let mut code = "invalid_query";
            if !body.is_empty() {
                request = request.json(body);
                code = "invalid_body";
            }
            let said = request.await.assert_error(400, code);
            assert!(said.starts_with(message), "{row}: {said}");
        }
        assert_eq!(account.read("/v1/calls").await["data"], json!([]), "nothing was placed");
        assert_eq!(account.read("/v1/agents").await["data"].as_array().map(Vec::len), Some(1));
        assert_eq!(account.read(&format!("/v1/agents/{agent}")).await, before);
    }
}
