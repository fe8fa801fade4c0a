//! The contents of a webhook: many items at once, unknown parts, statuses in any order.

use offhook_testkit::fakes::whatsapp::{
    APP_SECRET, PHONE_NUMBER_ID, failure, of_kind, signature, status, text as words, webhook,
};
use offhook_testkit::{TestDatabase, contract};
use serde_json::{Value, json};

use super::{FROM, Shop, said, tell};

const ONLY_TEXT: &str =
    "Lo siento, aquí solo puedo leer texto. Por favor, escríbame de qué se trata.";

fn parsed(body: &[u8]) -> Value {
    serde_json::from_slice(body).unwrap_or_default()
}

contract! {
    async fn what_cannot_be_read_of_a_webhook_keeps_nothing_from_the_rest(database: TestDatabase) {
        let shop = Shop::new(database).await;
        let now = shop.now();
        let mut nameless = words("wamid.2", FROM, now, "Who am I?");
        nameless["from"] = Value::Null;
        let unsupported = json!({
            "from": FROM, "id": "wamid.5", "timestamp": now.to_string(), "type": "unsupported",
            "errors": [{"code": 131_051, "title": "Message type is not currently supported"}],
        });
        let messages = [
            words("wamid.1", FROM, now, "One"),
            nameless,
            json!(7),
            of_kind("wamid.3", FROM, now, "reaction", json!({"message_id": "wamid.1", "emoji": "👍"})),
            of_kind("wamid.4", FROM, now, "sticker", json!({"id": "9", "mime_type": "image/webp", "animated": false})),
            unsupported,
            words("wamid.6", FROM, now, "Two"),
        ];
        let nobodys = "wamid.NOBODYS";
        let statuses =
            [json!("read"), json!({"id": 7}), status(nobodys, "delivered", None), failure(nobodys, 131_026)];
        let mut whole = parsed(&webhook(PHONE_NUMBER_ID, &messages, &statuses));
        let change = whole["entry"][0]["changes"][0].clone();
        whole["entry"] = json!([
            7,
            {"id": "1", "changes": "none"},
            {"id": "2", "changes": [7, {"field": "account_update", "value": {"event": "X"}}, {"field": "messages"}]},
            {"id": "3", "changes": [{"field": "messages", "value": {"metadata": {}}}, change]},
        ]);
        let body = whole.to_string().into_bytes();
        let app = &shop.app;
        let answer = tell(app, app.account, &signature(APP_SECRET, &body), &body).await;
        assert_eq!((answer.status, answer.body.len()), (200, 0));
        let expected = [
            ("user", "One"), ("agent", "At nine."), ("user", "[sticker]"), ("agent", ONLY_TEXT),
            ("user", "[unsupported]"), ("user", "Two"), ("agent", "At nine."),
        ];
        assert_eq!(shop.turns(7).await, said(&expected));
        assert_eq!(shop.taken(3).await.len(), 3);
        // A repeated webhook has no effect.
        assert_eq!(tell(app, app.account, &signature(APP_SECRET, &body), &body).await.status, 200);
        shop.says("wamid.7", "Three").await;
        assert_eq!(shop.taken(4).await.len(), 4);
        assert_eq!(shop.turns(9).await.len(), 9);
    }

    async fn what_no_reader_of_json_takes_keeps_nothing_from_the_rest(database: TestDatabase) {
        let shop = Shop::new(database).await;
        let app = &shop.app;
        let mut expected = Vec::new();
        for (number, (from, to)) in [
            (r#""field":"messages""#, r#""field":"messages","name":"Ana \ud83d""#),
            (r#""field":"messages""#, r#""field":"messages","x":1e999,"x":2"#),
            (r#""statuses":[]"#, r#""statuses":null"#),
            (r#""statuses":[]"#, r#""statuses":{}"#),
            (r#""type":"text""#, r#""type":"text","interactive":"x","button":7"#),
            (r#""type":"text""#, r#""type":"text","button":{"text":"\ude00"}"#),
        ]
        .into_iter()
        .enumerate()
        {
            let message = words(&format!("wamid.{number}"), FROM, shop.now(), "Hi");
            let whole = parsed(&webhook(PHONE_NUMBER_ID, &[message], &[]));
            let mut whole = json!({"entry": whole["entry"]});
            whole["entry"][0]["changes"][0]["value"]["statuses"] = json!([]);
            let whole = whole.to_string();
            assert!(whole.contains(from), "{from} in {whole}");
            let body = whole.replace(from, to).into_bytes();
            let answer = tell(app, app.account, &signature(APP_SECRET, &body), &body).await;
            assert_eq!(answer.status, 200);
            expected.extend([("user", "Hi"), ("agent", "At nine.")]);
            assert_eq!(shop.turns(expected.len()).await, said(&expected), "{to}");
        }
    }

    async fn news_of_a_message_may_come_before_its_answer_twice_and_backwards(database: TestDatabase) {
        let shop = Shop::new(database).await;
        shop.says("wamid.1", "Hi").await;
        let sent = shop.taken(1).await.remove(0);
        shop.fares(&["accepted"]).await;
        let told = |word: &str| status(&sent.wamid, word, Some(&sent.reference));
        // A message that failed for the moment, and then arrived.
        shop.told(&[], &[failure(&sent.wamid, 131_026), told("delivered"), told("sent")]).await;
        shop.fares(&["delivered"]).await;
        shop.told(&[], &[failure(&sent.wamid, 131_026), told("read"), told("delivered"), told("warned")]).await;
        shop.fares(&["read"]).await;
        // About another sender's message, with an unknown id of ours and with an invalid id.
        let strange = status("wamid.OTHER", "failed", Some("019d0000-0000-7000-8000-000000000009"));
        shop.told(&[], &[strange, status("wamid.OTHER", "read", Some("no id of ours"))]).await;
        shop.fares(&["read"]).await;
        let turns = shop.turns(3).await;
        assert_eq!(turns.len(), 3, "what failed once is said once: {turns:?}");
    }

    async fn a_failure_without_a_reason_is_told_as_one(database: TestDatabase) {
        let shop = Shop::new(database).await;
        for (at, errors) in [json!([]), json!("none"), json!([{"code": "131026"}])].into_iter().enumerate() {
            shop.says(&format!("wamid.{at}"), "Hi").await;
            let sent = shop.taken(at + 1).await.remove(at);
            let mut failed = status(&sent.wamid, "failed", None);
            failed["errors"] = errors;
            shop.fares(&[&vec!["failed"; at][..], &["accepted"]].concat()).await;
            shop.told(&[], &[failed]).await;
            shop.fares(&vec!["failed"; at + 1]).await;
            let turns = shop.turns(3 * (at + 1)).await;
            let note = "whatsapp({}) → WhatsApp did not deliver the message, and does not say why";
            assert_eq!(turns.last().map(|turn| turn.1.as_str()), Some(note));
        }
    }

    async fn a_webhook_may_be_as_large_as_whatsapp_makes_them(database: TestDatabase) {
        let shop = Shop::new(database).await;
        let app = &shop.app;
        let padded = |bytes: usize| {
            let mut whole = parsed(&webhook(PHONE_NUMBER_ID, &[words("wamid.1", FROM, shop.now(), "Hi")], &[]));
            whole["entry"][0]["id"] = json!("1".repeat(bytes));
            whole.to_string().into_bytes()
        };
        let target = format!("/callbacks/whatsapp/{}", app.account);
        let larger = app.bare("POST", &target).header("Content-Length", (3 * 1024 * 1024 + 1).to_string());
        let larger = larger.header("X-Hub-Signature-256", signature(APP_SECRET, b""));
        larger.await.assert_error(413, "payload_too_large");
        let large = padded(5 << 19);
        assert_eq!(tell(app, app.account, &signature(APP_SECRET, &large), &large).await.status, 200);
        shop.taken(1).await;
    }
}
