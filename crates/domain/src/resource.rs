//! The objects of API requests.

use crate::ResourceId;
use crate::agent::vocabulary;

vocabulary! {
    /// The kinds of objects that have their own path in the API.
    ResourceKind {
        /// An agent.
        Agent => "agent",
        /// A tool.
        Tool => "tool",
        /// A conversation, which may be a call.
        Conversation => "conversation",
        /// A batch of calls.
        Batch => "batch_call",
        /// A phone number.
        PhoneNumber => "phone_number",
        /// A knowledge document.
        Document => "document",
        /// A folder of knowledge documents.
        Folder => "folder",
        /// A webhook endpoint.
        Webhook => "webhook",
        /// A webhook delivery.
        Delivery => "delivery",
    }
}

/// An object with its own path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resource {
    /// The kind of the object.
    pub kind: ResourceKind,
    /// The id of the object.
    pub id: ResourceId,
}

impl Resource {
    /// Returns the object of a path such as `/v1/calls/call_<id>/hangup`; `None` for lists, and if the id is invalid.
    #[must_use]
    pub fn of_path(path: &str) -> Option<Self> {
        let mut segments = path.strip_prefix("/v1/")?.split('/');
        let (first, second) = (segments.next()?, segments.next()?);
        let (kind, id) = match (first, second) {
            ("agents", "tools") => (ResourceKind::Tool, segments.next()?),
            ("agents", id) => (ResourceKind::Agent, id),
            ("calls", handle) => (ResourceKind::Conversation, handle.strip_prefix("call_")?),
            ("conversations", id) => (ResourceKind::Conversation, id),
            ("batch-calls", id) => (ResourceKind::Batch, id),
            ("phone-numbers", id) => (ResourceKind::PhoneNumber, id),
            ("knowledge", "documents") => (ResourceKind::Document, segments.next()?),
            ("knowledge", "folders") => (ResourceKind::Folder, segments.next()?),
            ("webhooks", "deliveries") => (ResourceKind::Delivery, segments.next()?),
            ("webhooks", id) => (ResourceKind::Webhook, id),
            _ => return None,
        };
        let id = id.parse().ok()?;
        Some(Self { kind, id })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_names_what_it_is_about_and_a_list_nothing() {
        let id = "0190163d-8694-739b-aea5-966c26f8ad91";
        for (path, kind) in [
            ("/v1/agents/{}/publish", ResourceKind::Agent),
            ("/v1/agents/tools/{}", ResourceKind::Tool),
            ("/v1/calls/call_{}/hangup", ResourceKind::Conversation),
            ("/v1/conversations/{}/turns", ResourceKind::Conversation),
            ("/v1/batch-calls/{}", ResourceKind::Batch),
            ("/v1/phone-numbers/{}", ResourceKind::PhoneNumber),
            ("/v1/knowledge/documents/{}/content", ResourceKind::Document),
            ("/v1/knowledge/folders/{}", ResourceKind::Folder),
            ("/v1/webhooks/{}/test", ResourceKind::Webhook),
            (
                "/v1/webhooks/deliveries/{}/redeliver",
                ResourceKind::Delivery,
            ),
        ] {
            let found = Resource::of_path(&path.replace("{}", id));
            let found = found.map(|resource| (resource.kind, resource.id.to_string()));
            assert_eq!(found, Some((kind, id.to_owned())), "{path}");
        }
        for path in [
            "/v1/agents",
            "/v1/agents/tools",
            "/v1/agents/agent_01k2x",
            "/v1/calls/undefined",
            "/v1/calls/***",
            "/v1/webhooks/deliveries",
            "/v1/knowledge/search",
            "/v1/phone-numbers/import",
            "/v1/me",
            "/v2",
        ] {
            assert_eq!(Resource::of_path(path), None, "{path}");
        }
    }
}
