//! Customers who ask not to be called again, aloud.

use offhook_tests::{needs_speech, speech, text};
use serde_json::json;

use super::is;
use super::stage::{CUSTOMER, GREETING, Stage, config};

#[tokio::test(flavor = "multi_thread")]
async fn a_customer_who_opts_out_is_on_the_list_before_the_goodbye_is_heard() {
    needs_speech!();
    let stage = Stage::open().await;
    let agent = stage.account.agent_with(config()).await;
    let handle = stage.account.call(&agent, CUSTOMER).await;
    let call = stage.phone.answers().await;
    assert_eq!(stage.hears(&call).await, GREETING);
    call.says(&speech("kal", "Please stop calling me.").await)
        .await;
    // It is there when the first sound of the goodbye is.
    call.hears_beginning(5).await;
    let list = stage.account.read("/v1/suppressions").await;
    let listed = &list["data"][0];
    assert_eq!(
        (&listed["number"], &listed["source"]),
        (&json!(CUSTOMER), &json!("customer")),
        "{list}"
    );

    let ended = stage.ended(&handle).await;
    is(&ended, "completed", "agent_hangup");
    assert_eq!(ended["opted_out"], true, "{ended}");
    assert_eq!(listed["conversation_id"], ended["conversation_id"]);
    let (conversation, turns) = stage.transcript(&ended).await;
    assert_eq!(turns.len(), 3, "{turns:?}");
    let goodbye = &conversation["transcript"][2]["started_at"];
    assert!(
        text(&listed["created_at"]) <= text(goodbye),
        "{list} {conversation}"
    );
    let again = json!({"agent_id": agent, "to": CUSTOMER});
    let again = stage.account.post("/v1/calls", again).await;
    assert_eq!(again.status, 409, "{again:?}");
}
