//! Phone numbers.

use super::*;
use crate::wire::number::{ImportedBody, NumberBody};

pub(super) fn operations() -> Vec<Operation> {
    use Answer::{List, One};
    let read = Access::Scope(Scope::PhoneNumbersRead);
    let write = Access::Scope(Scope::PhoneNumbersWrite);
    let (all, one) = ("/v1/phone-numbers", "/v1/phone-numbers/{id}");
    operations! {
        GET all, listPhoneNumbers, read => List("PhoneNumber"), "List phone numbers"
            .filters(vec![query("agent_id", "Only of this agent.", uuid())]);
        POST all, createPhoneNumber, write => One("PhoneNumber"), "Add a number of the simulated network"
            .body("CreatePhoneNumber").status(201).errors_too(&[Code::Conflict]);
        POST "/v1/phone-numbers/import", importPhoneNumbers, write
            => One("PhoneNumbersImported"), "Import the numbers of the account's own carrier credential"
            .optional_body("Nothing").errors_too(&[Code::Conflict, Code::UpstreamError]);
        GET one, getPhoneNumber, read => One("PhoneNumber"), "Read a phone number";
        PATCH one, updatePhoneNumber, write => One("PhoneNumber"), "Change a phone number's label or agent"
            .optional_body("UpdatePhoneNumber").errors_too(&[Code::Conflict]);
        DELETE one, deletePhoneNumber, write => One("Deleted"), "Delete a phone number";
    }
}

pub(super) fn schemas() -> Vec<(&'static str, Value)> {
    schemas! {
        PhoneNumber => NumberBody::shape();
        CreatePhoneNumber => body::request::<bodies::CreatePhoneNumber>();
        PhoneNumbersImported => ImportedBody::shape();
        UpdatePhoneNumber => body::request::<bodies::UpdatePhoneNumber>();
    }
}
