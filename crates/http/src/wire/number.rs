//! Phone numbers.

use offhook_services::Imported;
use offhook_services::store::PhoneNumber;

use super::shown;

shown! {
    NumberBody(number: PhoneNumber) {
        id,
        phone_number,
        label,
        provider,
        agent_id,
        created_at,
        updated_at,
    }
}

shown! {
    /// The result of an import.
    ImportedBody(done: Imported) {
        imported,
        already_present,
    }
}
