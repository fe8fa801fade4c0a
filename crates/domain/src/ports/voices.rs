//! The voice libraries of providers.

use async_trait::async_trait;

use crate::{VoiceList, VoiceProvider, messages};

/// A provider's list of voices.
#[async_trait]
pub trait VoiceLibrary: Send + Sync {
    /// The provider whose list it is.
    fn provider(&self) -> VoiceProvider;

    /// Lists every voice without an extra charge, page by page. Fails unless the whole list could be read.
    async fn voices(&self) -> Result<VoiceList, VoiceLibraryError>;

    /// Lists the private voices of a credential's owner that have no extra charge; their source is `custom`. Empty for
    /// a provider without private voices. Fails unless the whole list could be read.
    async fn own_voices(&self, credential: &str) -> Result<VoiceList, VoiceLibraryError> {
        let _ = credential;
        Ok(VoiceList::default())
    }

    /// Adds a voice of the provider's shared library to the workspace, so that agents can use it. Succeeds if the
    /// workspace already has the voice. After an error it is missing, or its state is unknown; a retry is safe.
    async fn add_shared(&self, voice: &SharedVoice) -> Result<(), VoiceLibraryError> {
        let _ = voice;
        Err(VoiceLibraryError::NotShared)
    }
}

/// A voice of a shared library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedVoice {
    /// The library's id of the account that shares it.
    pub owner_id: String,
    /// The library's id of the voice.
    pub voice_id: String,
    /// The voice's name in the workspace.
    pub name: String,
}

messages! { stored
/// Why a provider failed. It never shows the provider's answer.
pub enum VoiceLibraryError {
    /// No complete answer came.
    Unreachable => "the provider cannot be reached", "no se puede llegar al proveedor";
    Refused(status: u16) => "the provider answered with {status}", "el proveedor respondió con {status}";
    Malformed(fault: VoiceAnswerFault) => "the provider's answer is not of its form: {fault}",
        "la respuesta del proveedor no tiene su forma: {fault}";
    NotShared => "the provider shares no such voice", "el proveedor no comparte esa voz";
    Credential => "the credential holds characters that no HTTP header can carry",
        "la credencial tiene caracteres que ningún encabezado HTTP puede llevar";
    /// The workspace has reached its maximum number of voices.
    Full => "the workspace at the provider has no room for another voice",
        "el espacio de trabajo del proveedor no tiene lugar para otra voz";
}}

messages! { stored
/// What is wrong with a provider's answer.
#[derive(Copy)]
pub enum VoiceAnswerFault {
    NoPath => "no such path", "no existe esa ruta";
    NotJson => "it is not the JSON that it should be", "no es el JSON que debería ser";
    OtherVoice => "it names another voice", "nombra otra voz";
    PageNotJson => "a page is not the JSON that it should be", "una página no es el JSON que debería ser";
    PageTooLarge => "a page is too large", "una página es demasiado grande";
    Endless => "the list does not end", "la lista no termina";
    Cut => "the list goes on and does not say where", "la lista continúa y no dice dónde";
}}
