//! HubSpot (CRM API v3, OAuth 2026-03): searches contacts and logs calls with them.

use futures_util::FutureExt as _;
use offhook_domain::Timestamp;
use offhook_domain::tool::HttpMethod;
use serde::Deserialize;
use serde_json::json;

use super::api::{Api, Fault, Result, read};
use super::oauth::OAuth;
use super::{Definition, Function, cut};

pub(super) const DEFINITION: Definition = Definition {
    toolkit: "hubspot",
    name: "CRM",
    oauth: OAuth {
        authorize_url: "https://app.hubspot.com/oauth/authorize",
        token_url: "https://api.hubapi.com/oauth/2026-03/token",
        revoke_url: Some("https://api.hubapi.com/oauth/2026-03/token/revoke"),
        scopes: &[
            "oauth",
            "crm.objects.contacts.read",
            "crm.objects.contacts.write",
        ],
        ..OAuth::STANDARD
    },
    api_url: "https://api.hubapi.com",
    functions: &[
        Function {
            name: FIND_CONTACT,
            description: "Looks up a customer in the CRM by name, e-mail address or phone number.",
            parameters: FIND_CONTACT_SCHEMA,
            method: HttpMethod::Post,
            path: SEARCH_PATH,
        },
        Function {
            name: LOG_CALL,
            description: "Logs this conversation with a contact of the CRM. Use it once, towards the end, after the \
                          contact was found.",
            parameters: LOG_CALL_SCHEMA,
            method: HttpMethod::Post,
            path: CALLS_PATH,
        },
    ],
    call: |api, call| {
        async move {
            match call.function {
                FIND_CONTACT => find_contact(api, read(call)?).await,
                LOG_CALL => log_call(api, read(call)?, call.now).await,
                _ => Err(api.no_such_function()),
            }
        }
        .boxed()
    },
};

const FIND_CONTACT: &str = "find_contact";
const LOG_CALL: &str = "log_call";

const SEARCH_PATH: &str = "crm/v3/objects/contacts/search";
const CALLS_PATH: &str = "crm/v3/objects/calls";

/// Contacts in an answer at most.
const CONTACTS: usize = 5;

/// Characters of each contact property at most.
const PROPERTY: usize = 120;

/// HubSpot's association type from a call to a contact.
const CALL_TO_CONTACT: u32 = 194;

const FIND_CONTACT_SCHEMA: &str = r#"{"type":"object","properties":{
"query":{"type":"string","minLength":2,"maxLength":200,"description":"A name, an e-mail address or a phone number"}},
"required":["query"],"additionalProperties":false}"#;

const LOG_CALL_SCHEMA: &str = r#"{"type":"object","properties":{
"contact_id":{"type":"string","pattern":"^[0-9]{1,20}$","description":"The contact's id, as it was found"},
"summary":{"type":"string","minLength":1,"maxLength":4000,"description":"What was said and agreed"},
"title":{"type":"string","maxLength":200,"description":"What the call was about, in a few words"},
"direction":{"type":"string","enum":["inbound","outbound"],"description":"Who called: inbound is the customer"},
"duration_minutes":{"type":"integer","minimum":0,"maximum":480,"description":"How long it took so far"}},
"required":["contact_id","summary"],"additionalProperties":false}"#;

#[derive(Deserialize)]
struct Search {
    query: String,
}

#[derive(Deserialize)]
struct CallMade {
    contact_id: String,
    summary: String,
    title: Option<String>,
    direction: Option<String>,
    duration_minutes: Option<i64>,
}

/// The answer of `POST crm/v3/objects/contacts/search`.
#[derive(Deserialize)]
struct Found {
    total: u64,
    results: Vec<Contact>,
}

#[derive(Deserialize)]
struct Contact {
    id: String,
    properties: Properties,
}

#[derive(Deserialize)]
struct Properties {
    firstname: Option<String>,
    lastname: Option<String>,
    email: Option<String>,
    phone: Option<String>,
    company: Option<String>,
}

/// The answer of `POST crm/v3/objects/calls`.
#[derive(Deserialize)]
struct Logged {
    id: String,
}

async fn find_contact(api: Api<'_>, search: Search) -> Result<String> {
    let asked = json!({
        "query": search.query,
        "limit": CONTACTS,
        "properties": ["firstname", "lastname", "email", "phone", "company"],
    });
    let found: Result<Found, Fault> = api.post(SEARCH_PATH, &[], &asked).await;
    let found = found.map_err(|fault| api.not_read(fault))?;
    let told = |text: &Option<String>| {
        let text = text.as_deref().map(|text| cut(text, PROPERTY));
        text.filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let contact = |contact: &Contact| {
        let of = &contact.properties;
        let names = [told(&of.firstname), told(&of.lastname)];
        let name = names.into_iter().flatten().collect::<Vec<_>>().join(" ");
        json!({
            "contact_id": cut(&contact.id, PROPERTY),
            "name": name,
            "email": told(&of.email),
            "phone": told(&of.phone),
            "company": told(&of.company),
        })
    };
    let contacts = found.results.iter().take(CONTACTS).map(contact);
    let contacts: Vec<_> = contacts.collect();
    Ok(json!({"total": found.total, "contacts": contacts}).to_string())
}

async fn log_call(api: Api<'_>, call: CallMade, now: Timestamp) -> Result<String> {
    let mut properties = json!({
        "hs_timestamp": now.to_string(),
        "hs_call_title": call.title.as_deref().unwrap_or("Call"),
        "hs_call_body": call.summary,
        "hs_call_status": "COMPLETED",
    });
    if let Some(direction) = call.direction {
        properties["hs_call_direction"] = direction.to_uppercase().into();
    }
    if let Some(minutes) = call.duration_minutes {
        // In milliseconds, as text like all properties.
        properties["hs_call_duration"] = (minutes * 60_000).to_string().into();
    }
    let asked = json!({
        "properties": properties,
        "associations": [{
            "to": {"id": call.contact_id},
            "types": [{
                "associationCategory": "HUBSPOT_DEFINED",
                "associationTypeId": CALL_TO_CONTACT,
            }],
        }],
    });
    let logged: Result<Logged, Fault> = api.post(CALLS_PATH, &[], &asked).await;
    let logged = logged.map_err(|fault| api.not_done("logged", &fault))?;
    Ok(json!({"logged": true, "call_id": cut(&logged.id, PROPERTY)}).to_string())
}
