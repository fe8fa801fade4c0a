//! Any service with OpenAI's embeddings API: OpenAI, Azure, vLLM, llama.cpp, Ollama, text-embeddings-inference.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use offhook_domain::ports::{EmbeddingError, Embeddings};
use offhook_egress::{SetupError, http_url, trusted_client};
use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderValue};
use serde::{Deserialize, Serialize};
use tokio::time::{sleep, timeout};

use crate::http;
use crate::settings::SettingsError;

/// The settings section that errors name.
const SECTION: &str = "knowledge.embeddings";

const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// Limit for one request.
const TRY_LIMIT: Duration = Duration::from_secs(12);

/// Limit for all tries of a request, which must fit within a lease.
const LIMIT: Duration = Duration::from_secs(30);

/// Limit for a question: a conversation waits one second for its passages.
const QUESTION_LIMIT: Duration = Duration::from_millis(600);

/// The delays before the second and third try, if the service names none.
const WAITS: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(2)];

/// The longest delay that a service may request.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

const MAX_ANSWER_BYTES: usize = 16 * 1024 * 1024;

const MAX_DIMENSION: usize = 8_192;

/// The embeddings service.
#[derive(Clone, PartialEq, Eq)]
pub struct EmbeddingsSettings {
    /// The URL before `/embeddings`, such as `https://api.openai.com/v1`.
    pub base_url: String,
    /// The model, such as `text-embedding-3-small`.
    pub model: String,
    /// The bearer key, if the service requires one.
    pub api_key: Option<String>,
    /// The vector length to request, if the model has a choice.
    pub dimensions: Option<u32>,
}

/// Hides the key.
impl fmt::Debug for EmbeddingsSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EmbeddingsSettings({}, {})", self.base_url, self.model)
    }
}

/// Creates the model of these settings. The error names the settings section.
pub fn embeddings(settings: &EmbeddingsSettings) -> Result<Arc<dyn Embeddings>, SettingsError> {
    let base = settings.base_url.trim_end_matches('/');
    let url = http_url(&format!("{base}/embeddings"))
        .ok_or_else(|| SettingsError::BaseUrl(SECTION.to_owned()))?;
    let key = settings.api_key.as_deref();
    let authorization = http::given_credential(SECTION, "Bearer ", key)?;
    let client = trusted_client()?
        .connect_timeout(CONNECT_LIMIT)
        .tcp_nodelay(true)
        .build()
        .map_err(SetupError::from)?;
    let model = &settings.model;
    Ok(Arc::new(OpenAiEmbeddings {
        client,
        url,
        authorization,
        name: match settings.dimensions {
            Some(dimensions) => format!("{model}@{dimensions}"),
            None => model.clone(),
        },
        wire_model: model.clone(),
        dimensions: settings.dimensions,
    }))
}

struct OpenAiEmbeddings {
    client: reqwest::Client,
    url: Url,
    authorization: Option<HeaderValue>,
    /// The model with every other setting that its vectors depend on.
    name: String,
    wire_model: String,
    dimensions: Option<u32>,
}

#[derive(Serialize)]
struct RequestBody<'a, T> {
    model: &'a str,
    input: &'a [T],
    encoding_format: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    dimensions: Option<u32>,
}

#[derive(Deserialize)]
struct AnswerBody {
    data: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    /// Some services leave it out, and answer in the order of the texts.
    index: Option<usize>,
    embedding: Vec<f32>,
}

/// A failed request, with the delay that the service requests.
struct Failed {
    error: EmbeddingError,
    wait: Option<Duration>,
}

impl From<EmbeddingError> for Failed {
    fn from(error: EmbeddingError) -> Self {
        Self { error, wait: None }
    }
}

impl OpenAiEmbeddings {
    async fn request<T: Serialize + Sync>(&self, input: &[T]) -> Result<Vec<Vec<f32>>, Failed> {
        let mut request = self.client.post(self.url.clone()).json(&RequestBody {
            model: &self.wire_model,
            input,
            encoding_format: "float",
            dimensions: self.dimensions,
        });
        if let Some(value) = &self.authorization {
            request = request.header(AUTHORIZATION, value.clone());
        }
        let answer = request.send().await.map_err(failure)?;
        let status = answer.status();
        if !status.is_success() {
            return Err(Failed {
                error: EmbeddingError::Refused(status.as_u16()),
                wait: http::retry_after(&answer),
            });
        }
        let body = http::whole(answer, MAX_ANSWER_BYTES).await;
        let body = body.map_err(failure)?;
        let body = body.ok_or(EmbeddingError::Malformed("it is too large"))?;
        Ok(vectors(&body, input.len())?)
    }

    async fn insist(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbeddingError> {
        let mut waits = WAITS.into_iter();
        loop {
            let asked = timeout(TRY_LIMIT, self.request(texts)).await;
            let failed = match asked.unwrap_or_else(|_| Err(EmbeddingError::Timeout.into())) {
                Ok(vectors) => return Ok(vectors),
                Err(failed) => failed,
            };
            let Some(wait) = waits.next().filter(|_| may_pass(&failed.error)) else {
                return Err(failed.error);
            };
            sleep(failed.wait.unwrap_or(wait).min(LONGEST_WAIT)).await;
        }
    }
}

#[async_trait]
impl Embeddings for OpenAiEmbeddings {
    fn model(&self) -> &str {
        &self.name
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbeddingError> {
        timeout(LIMIT, self.insist(texts))
            .await
            .unwrap_or(Err(EmbeddingError::Timeout))
    }

    async fn embed_question(&self, question: &str) -> Result<Vec<f32>, EmbeddingError> {
        let input = [question];
        let asked = timeout(QUESTION_LIMIT, self.request(&input)).await;
        let vectors = asked
            .map_err(|_| EmbeddingError::Timeout)?
            .map_err(|failed| failed.error)?;
        let none = EmbeddingError::Malformed("it holds no vector");
        vectors.into_iter().next().ok_or(none)
    }
}

/// Whether a retry may succeed soon.
const fn may_pass(error: &EmbeddingError) -> bool {
    match error {
        EmbeddingError::Unreachable | EmbeddingError::Timeout => true,
        EmbeddingError::Refused(status) => matches!(*status, 408 | 409 | 425 | 429 | 500..=599),
        EmbeddingError::Malformed(_) => false,
    }
}

fn failure(error: reqwest::Error) -> Failed {
    let error = if error.is_timeout() {
        EmbeddingError::Timeout
    } else {
        EmbeddingError::Unreachable
    };
    error.into()
}

/// The vectors of an answer in the order of the texts.
fn vectors(body: &[u8], texts: usize) -> Result<Vec<Vec<f32>>, EmbeddingError> {
    use EmbeddingError::Malformed;

    let answer: AnswerBody = serde_json::from_slice(body)
        .map_err(|_| Malformed("it is not the JSON that it should be"))?;
    if answer.data.len() != texts {
        return Err(Malformed("it holds another number of vectors than texts"));
    }
    let mut vectors: Vec<Option<Vec<f32>>> = vec![None; texts];
    for (at, item) in answer.data.into_iter().enumerate() {
        let index = item.index.unwrap_or(at);
        let place = vectors
            .get_mut(index)
            .filter(|place| place.is_none())
            .ok_or(Malformed("its indexes are not those of the texts"))?;
        *place = Some(item.embedding);
    }
    let vectors: Vec<Vec<f32>> = vectors.into_iter().flatten().collect();
    let dimension = vectors.first().map_or(0, Vec::len);
    let is_good = |vector: &Vec<f32>| {
        vector.len() == dimension
            && vector.iter().all(|value| value.is_finite())
            && vector.iter().any(|value| *value != 0.0)
    };
    if !(1..=MAX_DIMENSION).contains(&dimension) || !vectors.iter().all(is_good) {
        return Err(Malformed(
            "its vectors are not of one length, or not finite",
        ));
    }
    Ok(vectors)
}
