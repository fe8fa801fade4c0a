//! Places a call, with a single request.

use std::borrow::Cow;
use std::collections::BTreeMap;

use offhook_domain::Json;
use offhook_engine::Deadline;
use offhook_engine::legacy::{LegacyCall, LegacyError, LegacyRefusal};
use serde::{Deserialize, Serialize};

use super::client::{Client, Failed};
use super::numbers::{Line, Numbers};
use crate::lenient::Id;

/// The variable with our handle, in addition to the user id.
const HANDLE_VARIABLE: &str = "offhook_call_id";

#[derive(Serialize)]
struct Request<'a> {
    agent_id: &'a str,
    agent_phone_number_id: &'a str,
    to_number: &'a str,
    conversation_initiation_client_data: ClientData<'a>,
}

/// The initial data of a call.
#[derive(Serialize)]
struct ClientData<'a> {
    dynamic_variables: BTreeMap<&'a str, Cow<'a, Json>>,
    user_id: &'a str,
}

impl<'a> ClientData<'a> {
    /// The call's own variables with their types, and our handle. The handle overrides a variable of the same name,
    /// because the call is found by it.
    fn new(handle: &'a str, variables: &'a [(String, Json)]) -> Self {
        let variables = variables.iter();
        let mut dynamic_variables: BTreeMap<_, _> = variables
            .map(|(name, value)| (name.as_str(), Cow::Borrowed(value)))
            .collect();
        dynamic_variables.insert(HANDLE_VARIABLE, Cow::Owned(Json::from(handle)));
        Self {
            dynamic_variables,
            user_id: handle,
        }
    }
}

#[derive(Deserialize)]
struct Placed {
    success: bool,
    #[serde(default)]
    conversation_id: Id,
}

/// Places a call by the operation for the number's kind of line. The request leaves before `place_by` or not at all.
pub(super) async fn place(
    client: &Client,
    numbers: &Numbers,
    key: &str,
    call: LegacyCall,
    place_by: Deadline,
) -> Result<Option<String>, LegacyError> {
    let number = numbers.find_by(client, key, &call.from, place_by).await?;
    let number = number.ok_or(LegacyError::Refused(LegacyRefusal::NoNumber))?;
    let kind = match number.line {
        Line::Twilio => "twilio",
        Line::SipTrunk => "sip-trunk",
    };
    let handle = call.reference.to_string();
    let request = Request {
        agent_id: &call.agent,
        agent_phone_number_id: &number.id,
        to_number: call.to.as_str(),
        conversation_initiation_client_data: ClientData::new(&handle, &call.variables),
    };
    let path = ["v1", "convai", kind, "outbound-call"];
    match client.post(key, &path, &request).await {
        Ok(placed) => conversation_of(placed),
        Err(failed) => {
            if matches!(failed, Failed::NotFound | Failed::Refused(_)) {
                // The number may no longer exist.
                numbers.forget(key);
            }
            Err(failed.of_writing())
        }
    }
}

/// Interprets the answer. If it has a conversation id, a call may exist, whatever else it says.
fn conversation_of(placed: Placed) -> Result<Option<String>, LegacyError> {
    match placed.conversation_id.0 {
        None if !placed.success => Err(LegacyError::Refused(LegacyRefusal::NotPlaced)),
        conversation => Ok(conversation),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn our_handle_goes_along_twice_and_no_variable_takes_its_place() {
        let variables = [
            ("lead".to_owned(), Json::from("Ana")),
            (HANDLE_VARIABLE.to_owned(), Json::from("theirs")),
        ];
        let data = ClientData::new("call_1", &variables);
        assert_eq!(
            serde_json::to_value(&data).unwrap(),
            json!({
                "dynamic_variables": {"lead": "Ana", "offhook_call_id": "call_1"},
                "user_id": "call_1",
            })
        );
    }

    #[test]
    fn variables_keep_their_types_and_numbers_their_literals() {
        let variables = [
            ("score".to_owned(), Json::Number("7.50".into())),
            ("vip".to_owned(), Json::Bool(true)),
            ("zone".to_owned(), Json::Null),
            ("zip".to_owned(), Json::from("007")),
        ];
        let data = ClientData::new("call_1", &variables);
        assert_eq!(
            serde_json::to_string(&data).unwrap(),
            r#"{"dynamic_variables":{"offhook_call_id":"call_1","score":7.50,"vip":true,"zip":"007","zone":null},"user_id":"call_1"}"#
        );
    }

    #[test]
    fn a_conversation_is_a_call_that_was_placed_whatever_else_the_answer_says() {
        let told = |answer: Value| conversation_of(serde_json::from_value(answer).unwrap());
        let conversation = Ok(Some("conv_1".to_owned()));
        for success in [true, false] {
            let answer = json!({"success": success, "conversation_id": "conv_1"});
            assert_eq!(told(answer), conversation, "{success}");
        }
        for id in [json!(null), json!(""), json!(7), json!("conv\0_1")] {
            assert_eq!(
                told(json!({"success": true, "conversation_id": id})),
                Ok(None)
            );
            let refused = told(json!({"success": false, "conversation_id": id}));
            assert!(matches!(refused, Err(LegacyError::Refused(_))), "{id}");
        }
    }
}
