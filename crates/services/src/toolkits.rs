//! The catalog of integrations.

use offhook_domain::IntegrationCategory;

/// Another application that agents can work with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Toolkit {
    /// Its key, which accounts' connections name: it never changes. A cursor holds a whole one, of 24 bytes at most.
    pub toolkit: &'static str,
    /// Its name for people.
    pub name: &'static str,
    /// What it is for.
    pub category: IntegrationCategory,
}

/// Every toolkit, in the order of the keys.
pub(crate) const TOOLKITS: [Toolkit; 2] = [
    Toolkit {
        toolkit: "google_calendar",
        name: "Google Calendar",
        category: IntegrationCategory::Calendar,
    },
    Toolkit {
        toolkit: "hubspot",
        name: "HubSpot",
        category: IntegrationCategory::Crm,
    },
];

impl Toolkit {
    /// The toolkit with this key.
    pub(crate) fn of(key: &str) -> Option<Self> {
        TOOLKITS.into_iter().find(|toolkit| toolkit.toolkit == key)
    }

    /// What people call a toolkit; its key, if the catalog has it no more.
    pub(crate) fn name_of(key: &str) -> &str {
        Self::of(key).map_or(key, |toolkit| toolkit.name)
    }
}
