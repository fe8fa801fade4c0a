//! The shapes of responses: members in the documented order, null where one does not apply.

pub(crate) mod account;
pub(crate) mod agent;
pub(crate) mod agent_settings;
pub(crate) mod analysis;
pub(crate) mod batch;
pub(crate) mod billing;
pub(crate) mod campaign;
pub(crate) mod conversation;
pub(crate) mod gate;
pub(crate) mod integration;
pub(crate) mod knowledge;
pub(crate) mod log;
pub(crate) mod model;
pub(crate) mod number;
pub(crate) mod scenario;
pub(crate) mod team;
pub(crate) mod tool;
pub(crate) mod voice;
pub(crate) mod webhook;
pub(crate) mod widget;

use serde_json::value::RawValue;

/// The members of a record that a response shows, by name or by expression. The OpenAPI document gets the response's
/// schema from here too.
macro_rules! shown {
    ($(#[$doc:meta])* $name:ident($record:ident: $of:ty) { $($member:ident $(= $value:expr)?,)* }) => {
        $(#[$doc])*
        pub(crate) struct $name<'a>(pub(crate) &'a $of);

        impl ::serde::Serialize for $name<'_> {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use ::serde::ser::SerializeStruct as _;
                let $record = self.0;
                let count = [$(stringify!($member)),*].len();
                let mut members = serializer.serialize_struct(stringify!($name), count)?;
                $(members.serialize_field(
                    stringify!($member),
                    $crate::wire::shown!(@value $record $member $($value)?),
                )?;)*
                members.end()
            }
        }

        impl $crate::openapi::shape::Shape for $name<'_> {
            fn shape() -> ::serde_json::Value {
                $crate::openapi::schemas::object(&[$((
                    stringify!($member),
                    $crate::wire::shown!(@shape $of, $record $member $($value)?),
                )),*])
            }
        }
    };
    (@value $record:ident $member:ident) => { &$record.$member };
    (@value $record:ident $member:ident $value:expr) => { &$value };
    (@shape $of:ty, $record:ident $member:ident) => {
        $crate::openapi::shape::shape_of_member::<$of, _>(|$record| &$record.$member)
    };
    (@shape $of:ty, $record:ident $member:ident $value:expr) => {
        $crate::openapi::shape::shape_of_value::<$of, _>(|$record| {
            let _ = $record;
            $value
        })
    };
}
use shown;

use crate::prelude::*;

/// The response to DELETE.
#[derive(Serialize)]
pub(crate) struct Deleted<Id> {
    id: Id,
    deleted: bool,
}

impl<Id> Deleted<Id> {
    pub(crate) const fn new(id: Id) -> Self {
        Self { id, deleted: true }
    }
}

/// Stored JSON text, printed unchanged.
pub(crate) fn raw(text: &str) -> Result<&RawValue, ApiError> {
    serde_json::from_str(text).map_err(|_| ApiError::internal("stored JSON text is not JSON"))
}
