//! Data extraction from finished conversations.

use crate::agent::vocabulary;
use crate::messages;

vocabulary! {
    /// The status of a conversation's analysis.
    AnalysisStatus {
        /// Not done yet.
        Pending => "pending",
        /// The data fits the schema.
        Completed => "completed",
        /// There is no data; `error` says why.
        Failed => "failed",
    }
}

messages! { stored
/// Why a conversation has no data.
pub enum AnalysisFault {
    NoObject => "the model's answer was not a JSON object", "la respuesta del modelo no fue un objeto JSON";
    TooLong => "the model's answer was too long", "la respuesta del modelo fue demasiado larga";
    TooLongForSchema => "the model's answer was too long for so large a schema",
        "la respuesta del modelo fue demasiado larga para un esquema tan grande";
    Unfit(place: String) => "the model's answer did not fit the schema at `{place}`",
        "la respuesta del modelo no cumplió el esquema en `{place}`";
    NoReply => "no model of the agent answered", "no respondió ningún modelo del agente";
    Interrupted => "the analysis was interrupted too often", "el análisis se interrumpió demasiadas veces";
    SchemaGone => "the schema that it was ordered by is gone", "ya no existe el esquema con el que se pidió";
    ConversationGone => "the conversation is gone", "la conversación ya no existe";
    NoModel => "the agent's version has no model", "la versión del agente no tiene modelo";
    SchemaUnusable => "the schema cannot be used any more: set it again", "el esquema ya no se puede usar: guárdalo de nuevo";
}}
