//! Reads a file in a child process: a broken or hostile file ends the child, never the service.

use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::process::{ExitCode, Stdio};
use std::time::Duration;

use async_trait::async_trait;
use offhook_domain::DocumentFault;
use offhook_domain::messages::Stored as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;
use tokio::time::timeout;

use crate::{ExtractError, Extractor, Format, MAX_TEXT_BYTES, extract};

/// The hidden command of the binary that runs the child.
pub const COMMAND: &str = "extract";

/// The time limit of a child.
const WALL_LIMIT: Duration = Duration::from_secs(20);

/// The address space limit of a child.
#[cfg(unix)]
const MEMORY_LIMIT: u64 = 512 * 1024 * 1024;

/// The CPU time limit in seconds, in case the parent is gone.
#[cfg(unix)]
const CPU_LIMIT: u64 = 20;

/// Standard input, output and error: with this limit the child can open no other file or socket.
#[cfg(unix)]
const OPEN_FILES: u64 = 3;

/// Bytes that libraries may print before the answer.
const CHATTER: usize = 1024 * 1024;

/// The size of the child's trailer: the length of the answer before it, and whether the answer is the text (1) or the
/// reason why there is none (0). Libraries that print to standard output do so before that, and do no harm.
const TRAILER: usize = 9;

/// Reads each file in a separate process, which can open no files and is limited to 512 MiB and 20 seconds.
#[derive(Debug, Clone)]
pub struct ChildExtractor {
    program: PathBuf,
}

impl ChildExtractor {
    /// `program` is a binary whose command [`COMMAND`] calls [`serve_child`].
    pub const fn new(program: PathBuf) -> Self {
        Self { program }
    }
}

#[async_trait]
impl Extractor for ChildExtractor {
    async fn extract(&self, format: Format, content: Vec<u8>) -> Result<String, ExtractError> {
        // The environment holds the service's secrets.
        let mut child = Command::new(&self.program)
            .arg(COMMAND)
            .arg(format.extension())
            .env_clear()
            // Else the allocator takes more address space at once than the child may have, and hands that out.
            .env("MIMALLOC_DISALLOW_ARENA_ALLOC", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(std::io::Error::other("a child without pipes").into());
        };
        let send = async move {
            // A child that ends early does not read everything; its answer has the reason.
            let _ = stdin.write_all(&content).await;
            drop(stdin);
        };
        let mut answer = Vec::new();
        let most = (MAX_TEXT_BYTES + CHATTER + TRAILER) as u64;
        let mut stdout = stdout.take(most);
        let work = async {
            let (_, read) = tokio::join!(send, stdout.read_to_end(&mut answer));
            read?;
            child.wait().await
        };
        let Ok(ended) = timeout(WALL_LIMIT, work).await else {
            return Err(ExtractError::Died(DocumentFault::Slow));
        };
        if !ended?.success() {
            return Err(ExtractError::Died(DocumentFault::Crashed));
        }
        read_answer(answer).ok_or(ExtractError::Died(DocumentFault::Crashed))?
    }
}

fn read_answer(mut bytes: Vec<u8>) -> Option<Result<String, ExtractError>> {
    let end = bytes.len().checked_sub(TRAILER)?;
    let (length, is_text) = (bytes.get(end..end + 8)?, bytes.get(end + 8)? == &1);
    let length = usize::try_from(u64::from_le_bytes(length.try_into().ok()?)).ok()?;
    bytes.truncate(end);
    let answer = String::from_utf8(bytes.split_off(end.checked_sub(length)?)).ok()?;
    Some(if is_text {
        Ok(answer)
    } else {
        Err(DocumentFault::read(&answer)?.into())
    })
}

/// Runs the child: reads a file from standard input and writes its answer to standard output. Call it before anything
/// else is opened or started, because nothing can be afterwards.
pub fn serve_child(format: &str) -> ExitCode {
    let Ok(format) = format.parse() else {
        return ExitCode::FAILURE;
    };
    limit();
    // Panic messages have no reader.
    std::panic::set_hook(Box::new(|_| {}));
    let mut content = Vec::new();
    if std::io::stdin().read_to_end(&mut content).is_err() {
        return ExitCode::FAILURE;
    }
    let (answer, is_text) = match extract(format, &content) {
        Ok(text) => (text, 1),
        Err(fault) => (fault.to_string(), 0),
    };
    let mut out = std::io::stdout().lock();
    let written = out
        .write_all(answer.as_bytes())
        .and_then(|()| out.write_all(&(answer.len() as u64).to_le_bytes()))
        .and_then(|()| out.write_all(&[is_text]))
        .and_then(|()| out.flush());
    if written.is_ok() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Applies the resource limits to this process. A limit that the system does not support is skipped.
#[cfg(unix)]
fn limit() {
    use rustix::process::{Resource, Rlimit, setrlimit};

    for (resource, most) in [
        (Resource::As, MEMORY_LIMIT),
        (Resource::Cpu, CPU_LIMIT),
        (Resource::Nofile, OPEN_FILES),
        (Resource::Fsize, 0),
        (Resource::Core, 0),
    ] {
        let limit = Rlimit {
            current: Some(most),
            maximum: Some(most),
        };
        let _ = setrlimit(resource, limit);
    }
}

#[cfg(not(unix))]
fn limit() {}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(before: &str, text: &str, is_text: u8) -> Vec<u8> {
        let mut bytes = [before, text].concat().into_bytes();
        bytes.extend((text.len() as u64).to_le_bytes());
        bytes.push(is_text);
        bytes
    }

    #[test]
    fn the_answer_is_what_its_trailer_says_whatever_was_printed_before() {
        let read = |bytes| read_answer(bytes).map(|read| read.map_err(|error| error.to_string()));
        assert_eq!(read(answer("chatter", "Año", 1)), Some(Ok("Año".into())));
        let none = "The file holds no text.";
        assert_eq!(read(answer("", none, 0)), Some(Err(none.into())));
        assert_eq!(read(answer("", "No.", 0)), None);
        assert_eq!(read(b"cut off".to_vec()), None);
        let mut lie = answer("", "x", 1);
        lie[1] = 0xff;
        assert_eq!(read(lie), None);
    }
}
