//! `/v1/phone-numbers`.

use crate::prelude::*;
use crate::request::ask::{PhoneNumbersRead, PhoneNumbersWrite};
use crate::request::body::{Nothing, Optional};
use crate::wire::Deleted;
use crate::wire::number::{ImportedBody, NumberBody};

pub(crate) fn routes() -> Vec<Endpoint> {
    let at = Endpoint::at;
    vec![
        at("/v1/phone-numbers").get(list).post(create),
        at("/v1/phone-numbers/import").post(import),
        at("/v1/phone-numbers/{id}")
            .get(get)
            .patch(update)
            .delete(delete),
    ]
}

pub(crate) struct OfAgent(Option<AgentId>);

impl FromQuery for OfAgent {
    fn read(query: &mut QueryReader) -> Result<Self, FieldError> {
        query.id("agent_id").map(Self)
    }
}

/// `GET /v1/phone-numbers`
async fn list(ask: Ask<PhoneNumbersRead, (), Listing<OfAgent>>) -> Reply {
    let page = ask.query.page_request(PhoneNumberId::from_uuid);
    let agent = ask.query.filters.0;
    let numbers = ask.services().numbers();
    let numbers = numbers.list(ask.account(), agent, page).await?;
    ask.query.answer(
        &numbers,
        |number| (number.created_at, number.id.uuid()),
        NumberBody,
    )
}

/// `POST /v1/phone-numbers`
async fn create(ask: Ask<PhoneNumbersWrite, (), (), Json>) -> Reply {
    let numbers = ask.services().numbers();
    let number = numbers.create(ask.account(), &ask.body).await?;
    ask.made(ResourceKind::PhoneNumber, number.id.uuid());
    reply::created(&NumberBody(&number))
}

/// `POST /v1/phone-numbers/import`
async fn import(ask: Ask<PhoneNumbersWrite, (), (), Nothing>) -> Reply {
    let imported = ask.services().numbers().import(ask.account()).await?;
    reply::ok(&ImportedBody(&imported))
}

/// `GET /v1/phone-numbers/{id}`
async fn get(ask: Ask<PhoneNumbersRead, PhoneNumberId>) -> Reply {
    let number = ask.services().numbers().get(ask.account(), ask.id).await?;
    reply::ok(&NumberBody(&number))
}

/// `PATCH /v1/phone-numbers/{id}`
async fn update(ask: Ask<PhoneNumbersWrite, PhoneNumberId, (), Optional>) -> Reply {
    let numbers = ask.services().numbers();
    let number = numbers.update(ask.account(), ask.id, &ask.body.0).await?;
    reply::ok(&NumberBody(&number))
}

/// `DELETE /v1/phone-numbers/{id}`
async fn delete(ask: Ask<PhoneNumbersWrite, PhoneNumberId>) -> Reply {
    let numbers = ask.services().numbers();
    numbers.delete(ask.account(), ask.id).await?;
    reply::ok(&Deleted::new(ask.id))
}
