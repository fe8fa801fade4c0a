//! Integrations with other applications.

use crate::agent::vocabulary;
use crate::messages;

vocabulary! {
    /// The status of an account's integration with a toolkit of the catalog.
    IntegrationStatus {
        /// Available, never connected.
        Available => "available",
        /// The connection was started.
        Connecting => "connecting",
        /// Connected.
        Active => "active",
        /// The application no longer accepts the authorization.
        Expired => "expired",
        /// The connection or its last use failed.
        Error => "error",
        /// Disconnected after a connection.
        Disconnected => "disconnected",
    }
}

vocabulary! {
    /// The category of a toolkit.
    IntegrationCategory {
        /// Events and free times.
        Calendar => "calendar",
        /// Contacts and deals.
        Crm => "crm",
        /// Messages to a team.
        Messaging => "messaging",
        /// Tables of rows.
        Spreadsheet => "spreadsheet",
    }
}

messages! { stored
/// Why an application is not connected.
pub enum IntegrationFault {
    ConsentError(name: String) => "{name} answered the request for consent with an error",
        "{name} respondió con un error a la solicitud de permiso";
    Silent(name: String) => "{name} did not answer when it was asked for access: connect it again",
        "{name} no respondió cuando se le pidió acceso: conéctala de nuevo";
    ConsentRefused(name: String) =>
        "{name} did not take the consent, which is good once and for a few minutes: connect it again",
        "{name} no aceptó el permiso, que vale una sola vez y por unos minutos: conéctala de nuevo";
    UnknownClient { name: String, toolkit: String } =>
        "{name} does not know this service: whoever runs it must look at integrations.{toolkit}.client_id and \
         integrations.{toolkit}.client_secret",
        "{name} no conoce este servicio: su operador debe revisar integrations.{toolkit}.client_id e integrations.{toolkit}.client_secret";
    Partial(name: String) => "{name} was allowed less than what agents need: connect it again, and allow all of it",
        "A {name} se le permitió menos de lo que necesitan los agentes: conéctala de nuevo y permite todo";
    Status { name: String, status: u16 } =>
        "{name} answered the request for access with HTTP status {status}: connect it again later",
        "{name} respondió a la solicitud de acceso con el estado HTTP {status}: conéctala de nuevo más tarde";
    Malformed(name: String) => "{name} answered the request for access in a form that is not the documented one",
        "{name} respondió a la solicitud de acceso de una forma que no es la documentada";
    Expired(name: String) => "{name} granted access for a time, and that is over: connect it again",
        "{name} dio acceso por un tiempo, que ya terminó: conéctala de nuevo";
    Withdrawn(name: String) =>
        "{name} takes the authorization no more (it was withdrawn there, or has run out): connect it again",
        "{name} ya no acepta la autorización (se retiró allá, o venció): conéctala de nuevo";
    NoneAccepted(name: String) =>
        "{name} takes no authorization of this service, not even a new one (HTTP status 401): look there what it may do, and \
         connect it again",
        "{name} no acepta ninguna autorización de este servicio, ni una nueva (estado HTTP 401): revisa allá qué se le permite, y conéctala de nuevo";

    // It is asked again by itself.
    LapsedSilent(name: String) => "{name} does not answer, and the access that it granted has lapsed; it is asked again and again",
        "{name} no responde, y el acceso que dio ya venció; se sigue reintentando";
    LapsedClient { name: String, toolkit: String } =>
        "{name} does not know this service any more: whoever runs it must look at integrations.{toolkit}.client_id and \
         integrations.{toolkit}.client_secret",
        "{name} ya no conoce este servicio: su operador debe revisar integrations.{toolkit}.client_id e integrations.{toolkit}.client_secret";
    LapsedStatus { name: String, status: u16 } =>
        "{name} answers with HTTP status {status}, and the access that it granted has lapsed; it is asked again and again",
        "{name} responde con el estado HTTP {status}, y el acceso que dio ya venció; se sigue reintentando";
    LapsedMalformed(name: String) =>
        "{name} answers in a form that is not the documented one, and the access that it granted has lapsed; it is asked \
         again and again",
        "{name} responde de una forma que no es la documentada, y el acceso que dio ya venció; se sigue reintentando";
}}
