//! The sections of a configuration: bodies whose members all have defaults.

use super::read;
use crate::body::{Form, LongText, Shape};
use crate::json::{Fault, Fields, Json, Result};

/// A text with `{{variables}}` of at most this number of characters.
pub(super) struct Template(pub(super) usize);

impl Form for Template {
    type Value = String;

    fn shape(&self) -> Shape {
        LongText(self.0).shape()
    }

    fn read(&self, fields: &mut Fields<'_>, name: &str) -> Result<String> {
        read::template(fields, name, self.0)
    }
}

pub(super) struct SampleRate;

impl Form for SampleRate {
    type Value = i64;

    fn shape(&self) -> Shape {
        Shape::SampleRate
    }

    fn read(&self, fields: &mut Fields<'_>, name: &str) -> Result<i64> {
        let rate = read::sample_rate(fields, name)?;
        rate.ok_or_else(|| fields.fault(name, Fault::Required))
    }
}

/// A provider's own settings.
pub(super) struct Settings;

impl Form for Settings {
    type Value = Json;

    fn shape(&self) -> Shape {
        Shape::Object
    }

    fn read(&self, fields: &mut Fields<'_>, name: &str) -> Result<Json> {
        read::settings(fields, name)
    }
}

/// Defines a section. Each member is `name: type = default, form, "meaning";`, in the documented order.
macro_rules! section {
    ($(#[$meta:meta])* $section:ident {
        $($(#[$attribute:meta])* $name:ident: $type:ty = $default:expr, $form:expr, $about:literal;)+
    }) => {
        $crate::body! {
            $(#[$meta])*
            #[derive(Debug, Clone, PartialEq, ::serde::Serialize)]
            pub $section {
                $($(#[$attribute])* $name: $type, $crate::body::Or::<_, $type>($form, $default), $about;)+
            }
        }

        impl Default for $section {
            fn default() -> Self {
                Self { $($name: $default,)+ }
            }
        }
    };
}
pub(super) use section;
