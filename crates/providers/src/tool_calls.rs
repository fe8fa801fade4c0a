//! Assembles tool calls from the parts of a stream.

use offhook_engine::ports::{ModelError, ToolCall};
use serde::Deserialize;
use serde_json::Value;

use crate::lenient::without_nul;

/// Tool calls per answer at most; no real answer has more.
const MAX_CALLS: usize = 64;

/// A part of a tool call: the first one of an index has id and name, the others continue the arguments.
#[derive(Deserialize)]
pub(crate) struct CallPart {
    index: Option<u32>,
    id: Option<String>,
    function: Option<FunctionPart>,
}

#[derive(Deserialize)]
struct FunctionPart {
    name: Option<String>,
    /// A piece of JSON text; some services send the whole object instead.
    arguments: Option<Value>,
}

/// The tool calls of one answer, in the order of their first parts.
#[derive(Default)]
pub(crate) struct Calls(Vec<Partial>);

struct Partial {
    index: Option<u32>,
    id: String,
    name: String,
    arguments: String,
}

impl Calls {
    /// Adds a part that a vendor writes otherwise, as OpenAI writes it.
    pub(crate) fn add_value(&mut self, part: Value) -> Result<(), ModelError> {
        let part = serde_json::from_value(part);
        self.add(part.map_err(|_| ModelError::Protocol("a tool call is malformed"))?)
    }

    /// Adds a part, without its U+0000. Fails for too many calls, and for arguments that are neither text nor an
    /// object.
    pub(crate) fn add(&mut self, part: CallPart) -> Result<(), ModelError> {
        let id = without_nul(part.id.unwrap_or_default());
        let at = match self.find(part.index, &id) {
            Some(at) => at,
            None if self.0.len() >= MAX_CALLS => {
                return Err(ModelError::Protocol("it calls too many tools"));
            }
            None => {
                self.0.push(Partial {
                    index: part.index,
                    id: id.clone(),
                    name: String::new(),
                    arguments: String::new(),
                });
                self.0.len() - 1
            }
        };
        let call = &mut self.0[at];
        if call.id.is_empty() {
            call.id = id;
        }
        let Some(function) = part.function else {
            return Ok(());
        };
        if let (true, Some(name)) = (call.name.is_empty(), function.name) {
            call.name = without_nul(name);
        }
        match function.arguments {
            None | Some(Value::Null) => {}
            Some(Value::String(more)) => call.arguments.push_str(&without_nul(more)),
            Some(whole @ Value::Object(_)) => call.arguments.push_str(&whole.to_string()),
            Some(_) => return Err(ModelError::Protocol("a tool call has malformed arguments")),
        }
        Ok(())
    }

    /// The call that a part belongs to. Some services omit the index, others give every call the same index; a new id
    /// means a new call. A part without both belongs to the last call.
    fn find(&self, index: Option<u32>, id: &str) -> Option<usize> {
        let is_other = |call: &Partial| !id.is_empty() && !call.id.is_empty() && call.id != id;
        let same_place = |call: &&Partial| index.is_none() || call.index == index;
        let last = self.0.iter().rposition(|call| same_place(&call));
        last.filter(|at| !is_other(&self.0[*at])).or_else(|| {
            self.0
                .iter()
                .position(|call| !id.is_empty() && call.id == id)
        })
    }

    /// The calls of a complete answer. Fails for a call without a name.
    pub(crate) fn whole(self) -> Result<Vec<ToolCall>, ModelError> {
        let whole = |(at, call): (usize, Partial)| {
            if call.name.is_empty() {
                return Err(ModelError::Protocol("a tool call has no name"));
            }
            let is_blank = call.arguments.trim().is_empty();
            Ok(ToolCall {
                id: match call.id.is_empty() {
                    true => format!("call_{at}"),
                    false => call.id,
                },
                name: call.name,
                arguments: if is_blank {
                    "{}".into()
                } else {
                    call.arguments
                },
                vendor: None,
            })
        };
        self.0.into_iter().enumerate().map(whole).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(parts: &[&str]) -> Result<Vec<(String, String, String)>, ModelError> {
        let mut calls = Calls::default();
        for part in parts {
            calls.add(serde_json::from_str(part).unwrap())?;
        }
        let calls = calls.whole()?;
        Ok(calls
            .into_iter()
            .map(|c| (c.id, c.name, c.arguments))
            .collect())
    }

    fn call(id: &str, name: &str, arguments: &str) -> (String, String, String) {
        (id.to_owned(), name.to_owned(), arguments.to_owned())
    }

    #[test]
    fn a_service_may_leave_the_index_out_or_give_it_twice() {
        let no_index = [
            r#"{"id":"a","function":{"name":"f","arguments":"{"}}"#,
            r#"{"function":{"arguments":"}"}}"#,
            r#"{"id":"b","function":{"name":"g","arguments":"{}"}}"#,
        ];
        let same_index = [
            r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}"#,
            r#"{"index":0,"id":"b","function":{"name":"g","arguments":"{}"}}"#,
        ];
        let expected = vec![call("a", "f", "{}"), call("b", "g", "{}")];
        assert_eq!(whole(&no_index), Ok(expected.clone()));
        assert_eq!(whole(&same_index), Ok(expected));
    }

    #[test]
    fn an_id_and_a_name_may_be_repeated_and_an_object_stands_for_its_text() {
        let repeated = [
            r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}"#,
            r#"{"index":0,"id":"a","function":{"name":"f","arguments":"}"}}"#,
        ];
        assert_eq!(whole(&repeated), Ok(vec![call("a", "f", "{}")]));
        let object = [r#"{"function":{"name":"f","arguments":{"x":[1]}}}"#];
        assert_eq!(
            whole(&object),
            Ok(vec![call("call_0", "f", r#"{"x":[1]}"#)])
        );
    }

    #[test]
    fn a_call_loses_the_nul_of_its_id_its_name_and_its_arguments() {
        let spoilt = [
            r#"{"index":0,"id":"a\u0000","function":{"name":"f\u0000g","arguments":"{\u0000"}}"#,
            r#"{"index":0,"id":"\u0000","function":{"name":"\u0000","arguments":"}"}}"#,
            r#"{"index":1,"id":"\u0000","function":{"name":"h","arguments":"\u0000"}}"#,
        ];
        let expected = vec![call("a", "fg", "{}"), call("call_1", "h", "{}")];
        assert_eq!(whole(&spoilt), Ok(expected));
        assert!(whole(&[r#"{"function":{"name":"\u0000","arguments":"{}"}}"#]).is_err());
    }

    #[test]
    fn a_call_without_arguments_has_none_and_one_without_a_name_is_refused() {
        let bare = [r#"{"index":0,"id":"a","function":{"name":"f","arguments":null}}"#];
        assert_eq!(whole(&bare), Ok(vec![call("a", "f", "{}")]));
        assert!(whole(&[r#"{"index":0,"id":"a"}"#]).is_err());
        assert!(whole(&[r#"{"function":{"name":"f","arguments":7}}"#]).is_err());
    }
}
