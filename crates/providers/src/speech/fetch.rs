//! Text-to-speech over HTTP: one request per text, answered by the audio.

use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use offhook_engine::ports::speech::{SpeechError, SpeechPiece, SpokenText, Synthesizer};
use reqwest::{RequestBuilder, Response};
use tokio::time::{Instant, timeout, timeout_at};

use super::Result;
use super::sound::{Coding, SoundReader};
use crate::http;

/// Limit for the first byte of audio, and between bytes.
const SILENCE_LIMIT: Duration = Duration::from_secs(3);

/// A synthesizer that sends one request per text.
pub(crate) struct EachText<A> {
    pub(crate) ask: A,
    pub(crate) coding: Coding,
}

impl<A> Synthesizer for EachText<A>
where
    A: Fn(&SpokenText) -> Result<RequestBuilder> + Send + Sync,
{
    fn speak(&self, text: SpokenText) -> BoxStream<'static, Result<SpeechPiece>> {
        match (self.ask)(&text) {
            Ok(request) => sound(request, self.coding),
            Err(error) => stream::once(async { Err(error) }).boxed(),
        }
    }
}

/// The audio of a request. Dropping the stream closes the connection, which cancels the request.
fn sound(request: RequestBuilder, coding: Coding) -> BoxStream<'static, Result<SpeechPiece>> {
    stream::once(open(request, coding))
        .flat_map(|opened| match opened {
            Ok(sound) => stream::unfold(sound, Sound::next).boxed(),
            Err(error) => stream::once(async { Err(error) }).boxed(),
        })
        .boxed()
}

struct Sound {
    body: BoxStream<'static, reqwest::Result<bytes::Bytes>>,
    reader: SoundReader,
    /// The deadline of the next byte.
    due: Instant,
    over: bool,
}

async fn open(request: RequestBuilder, coding: Coding) -> Result<Sound> {
    let due = Instant::now() + SILENCE_LIMIT;
    let answer = timeout_at(due, request.send())
        .await
        .map_err(|_| SpeechError::Timeout)?;
    Ok(Sound {
        body: accepted(answer)?.bytes_stream().boxed(),
        reader: SoundReader::new(coding)?,
        due,
        over: false,
    })
}

fn accepted(answer: reqwest::Result<Response>) -> Result<Response> {
    let answer = answer.map_err(|error| failure(&error))?;
    match answer.status() {
        status if status.is_success() => Ok(answer),
        status => Err(SpeechError::Refused(status.as_u16())),
    }
}

impl Sound {
    async fn next(mut self) -> Option<(Result<SpeechPiece>, Self)> {
        if self.over {
            return None;
        }
        loop {
            let came = timeout_at(self.due, self.body.next()).await;
            let error = match came {
                Ok(Some(Ok(bytes))) => match self.reader.read(&bytes) {
                    Ok(samples) if samples.is_empty() => continue,
                    Ok(samples) => {
                        self.due = Instant::now() + SILENCE_LIMIT;
                        return Some((Ok(SpeechPiece::Audio(samples)), self));
                    }
                    Err(error) => error,
                },
                Ok(Some(Err(error))) => failure(&error),
                Ok(None) => {
                    self.over = true;
                    let rest = self.reader.finish();
                    return (!rest.is_empty()).then_some((Ok(SpeechPiece::Audio(rest)), self));
                }
                Err(_) => SpeechError::Timeout,
            };
            self.over = true;
            return Some((Err(error), self));
        }
    }
}

/// The body of an answer, at most `most` bytes, within `limit`. Errors contain nothing of the answer.
pub(crate) async fn body(request: RequestBuilder, most: usize, limit: Duration) -> Result<Vec<u8>> {
    let whole = async {
        let answer = accepted(request.send().await)?;
        let body = http::whole(answer, most).await;
        let body = body.map_err(|error| failure(&error))?;
        body.ok_or(SpeechError::Protocol("it is too long"))
    };
    timeout(limit, whole)
        .await
        .map_err(|_| SpeechError::Timeout)?
}

fn failure(error: &reqwest::Error) -> SpeechError {
    if error.is_timeout() {
        SpeechError::Timeout
    } else if error.is_builder() || error.is_redirect() {
        SpeechError::Protocol("the request could not be made")
    } else {
        SpeechError::Unreachable
    }
}
