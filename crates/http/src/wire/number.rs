//! Phone numbers.

use offhook_domain::{AgentId, E164, NumberProvider, PhoneNumberId, Timestamp};
use offhook_services::Imported;
use offhook_services::store::PhoneNumber;
use serde::Serialize;

#[derive(Serialize)]
pub(crate) struct NumberBody<'a> {
    id: PhoneNumberId,
    phone_number: &'a E164,
    label: &'a str,
    provider: NumberProvider,
    agent_id: Option<AgentId>,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl<'a> From<&'a PhoneNumber> for NumberBody<'a> {
    fn from(number: &'a PhoneNumber) -> Self {
        Self {
            id: number.id,
            phone_number: &number.phone_number,
            label: &number.label,
            provider: number.provider,
            agent_id: number.agent_id,
            created_at: number.created_at,
            updated_at: number.updated_at,
        }
    }
}

/// What an import did.
#[derive(Serialize)]
pub(crate) struct ImportedBody {
    imported: usize,
    already_present: usize,
}

impl From<Imported> for ImportedBody {
    fn from(imported: Imported) -> Self {
        Self {
            imported: imported.imported,
            already_present: imported.already_present,
        }
    }
}

/// What DELETE answers.
#[derive(Serialize)]
pub(crate) struct NumberDeleted {
    pub(crate) id: PhoneNumberId,
    pub(crate) deleted: bool,
}
