//! The catalog of integrations.

use offhook_domain::IntegrationCategory;

/// An application that agents can work with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Toolkit {
    /// Its key, which accounts' connections name: it never changes. A cursor holds a whole key, of 24 bytes at most.
    pub toolkit: &'static str,
    /// Its display name.
    pub name: &'static str,
    /// Its purpose.
    pub category: IntegrationCategory,
}

/// Every toolkit, in the order of the keys.
pub(crate) const TOOLKITS: [Toolkit; 5] = [
    Toolkit {
        toolkit: "cal_com",
        name: "Cal.com",
        category: IntegrationCategory::Calendar,
    },
    Toolkit {
        toolkit: "google_calendar",
        name: "Google Calendar",
        category: IntegrationCategory::Calendar,
    },
    Toolkit {
        toolkit: "google_sheets",
        name: "Google Sheets",
        category: IntegrationCategory::Spreadsheet,
    },
    Toolkit {
        toolkit: "hubspot",
        name: "HubSpot",
        category: IntegrationCategory::Crm,
    },
    Toolkit {
        toolkit: "slack",
        name: "Slack",
        category: IntegrationCategory::Messaging,
    },
];

impl Toolkit {
    pub(crate) fn of(key: &str) -> Option<Self> {
        TOOLKITS.into_iter().find(|toolkit| toolkit.toolkit == key)
    }

    /// A toolkit's display name; its key, if the catalog no longer has it.
    pub(crate) fn name_of(key: &str) -> &str {
        Self::of(key).map_or(key, |toolkit| toolkit.name)
    }
}
