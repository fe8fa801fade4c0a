//! Phone numbers.

use offhook_domain::{NumberProvider, Scope};
use serde_json::Value;

use super::super::operations::{Access, Answer, Operation, operations, query};
use super::super::schemas::{
    e164, instant, integer, nullable, object, request, string, text, uuid, words,
};
use crate::Code;

pub(super) fn operations() -> Vec<Operation> {
    use Answer::{List, One};
    let read = Access::Scope(Scope::PhoneNumbersRead);
    let write = Access::Scope(Scope::PhoneNumbersWrite);
    let (all, one) = ("/v1/phone-numbers", "/v1/phone-numbers/{id}");
    operations! {
        GET all, listPhoneNumbers, read => List("PhoneNumber"), "List phone numbers"
            .filters(vec![query("agent_id", "Only of this agent.", uuid())]);
        POST all, createPhoneNumber, write => One("PhoneNumber"), "Take a number of the simulated network"
            .body("CreatePhoneNumber").status(201).errors_too(&[Code::Conflict]);
        POST "/v1/phone-numbers/import", importPhoneNumbers, write
            => One("PhoneNumbersImported"), "Take over the numbers that the account's own carrier credential opens"
            .optional_body("Nothing").errors_too(&[Code::Conflict, Code::UpstreamError]);
        GET one, getPhoneNumber, read => One("PhoneNumber"), "Read a phone number";
        PATCH one, updatePhoneNumber, write => One("PhoneNumber"), "Change a phone number's label or agent"
            .optional_body("UpdatePhoneNumber").errors_too(&[Code::Conflict]);
        DELETE one, deletePhoneNumber, write => One("Deleted"), "Give a phone number back";
    }
}

pub(super) fn schemas() -> Vec<(&'static str, Value)> {
    let number = [
        ("id", uuid()),
        ("phone_number", e164()),
        ("label", string()),
        ("provider", words(NumberProvider::ALL)),
        ("agent_id", nullable(uuid())),
        ("created_at", instant()),
        ("updated_at", instant()),
    ];
    let create = [
        ("phone_number", e164()),
        ("label", nullable(text(120))),
        ("agent_id", nullable(uuid())),
    ];
    let update = [("label", text(120)), ("agent_id", nullable(uuid()))];
    let phone_numbers_imported = [("imported", integer()), ("already_present", integer())];
    vec![
        ("PhoneNumber", object(&number)),
        ("CreatePhoneNumber", request(&["phone_number"], &create)),
        ("PhoneNumbersImported", object(&phone_numbers_imported)),
        ("UpdatePhoneNumber", request(&[], &update)),
    ]
}
