//! Recordings not uploaded yet, as files on this machine: `<account id>_<conversation id>.part` while the call
//! continues, `.wav` once complete. `.wanted` marks one to fetch from elsewhere, and `.new` holds the part that has
//! been fetched. One process owns the directory, so a file that it does not know was left by a process that died.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use offhook_domain::{AccountId, ConversationId};
use offhook_media::wav::{HEADER_LEN, PAIR_LEN, RepairError, repair};

/// A call under way.
const PART: &str = "part";

/// A complete recording.
const WHOLE: &str = "wav";

/// One that is being received.
const FRESH: &str = "new";

/// One to fetch, and from where.
const WANTED: &str = "wanted";

/// A file that is not a recording despite its name, as after a power loss; it is not used again.
const BROKEN: &str = "broken";

/// The account and conversation of a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Of {
    pub(crate) account: AccountId,
    pub(crate) id: ConversationId,
}

/// The directory. Its methods block.
#[derive(Debug, Clone)]
pub(crate) struct Spool(PathBuf);

impl Spool {
    pub(crate) const fn new(directory: PathBuf) -> Self {
        Self(directory)
    }

    fn path(&self, of: Of, extension: &str) -> PathBuf {
        self.0.join(format!("{}_{}.{extension}", of.account, of.id))
    }

    /// Creates the file of a call that begins. A call is recorded once: an existing file stays as it is.
    pub(crate) fn create(&self, of: Of) -> io::Result<File> {
        self.begin()?;
        owned()
            .create_new(true)
            .read(true)
            .open(self.path(of, PART))
    }

    /// Creates an empty file for a recording that comes from elsewhere, until it is complete.
    pub(crate) fn fresh(&self, of: Of) -> io::Result<File> {
        self.begin()?;
        owned()
            .create(true)
            .truncate(true)
            .open(self.path(of, FRESH))
    }

    /// Completes the recording that was received.
    pub(crate) fn take_in(&self, of: Of) -> io::Result<()> {
        let (fresh, whole) = (self.path(of, FRESH), self.path(of, WHOLE));
        File::open(&fresh)?.sync_all()?;
        std::fs::rename(&fresh, &whole)?;
        sync_folder(&whole)
    }

    /// Records on disk that a recording is to be fetched, with a note.
    pub(crate) fn want(&self, of: Of, note: &str) -> io::Result<()> {
        let (fresh, wanted) = (self.path(of, FRESH), self.path(of, WANTED));
        self.begin()?;
        let mut file = owned().create(true).truncate(true).open(&fresh)?;
        file.write_all(note.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&fresh, &wanted)?;
        sync_folder(&wanted)
    }

    /// The note of a recording to fetch; `None` if it is no longer wanted.
    pub(crate) fn wanted(&self, of: Of) -> io::Result<Option<String>> {
        match std::fs::read_to_string(self.path(of, WANTED)) {
            Ok(note) => Ok(Some(note)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Deletes what has been received of a recording.
    pub(crate) fn discard(&self, of: Of) -> io::Result<()> {
        self.delete(of, FRESH)
    }

    /// Marks a recording as no longer wanted.
    pub(crate) fn forget(&self, of: Of) -> io::Result<()> {
        self.delete(of, WANTED)
    }

    fn begin(&self) -> io::Result<()> {
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&self.0)
    }

    /// Lists the recordings here, by name.
    pub(crate) fn list(&self) -> io::Result<Vec<Of>> {
        self.named(&[PART, WHOLE])
    }

    /// Lists the recordings to fetch, and those that a process left in part when it died.
    pub(crate) fn list_wanted(&self) -> io::Result<Vec<Of>> {
        self.named(&[WANTED, FRESH])
    }

    fn named(&self, extensions: &[&str]) -> io::Result<Vec<Of>> {
        let files = match std::fs::read_dir(&self.0) {
            Ok(files) => files,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut found = Vec::new();
        for file in files {
            let name = file?.file_name();
            found.extend(name.to_str().and_then(|name| named(name, extensions)));
        }
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    /// Completes a recording that is no longer written, up to its last sample; `None` if it has no sound.
    pub(crate) fn complete(&self, of: Of) -> io::Result<Option<PathBuf>> {
        let (part, whole) = (self.path(of, PART), self.path(of, WHOLE));
        if whole.try_exists()? {
            return Ok(Some(whole));
        }
        let mut file = match OpenOptions::new().read(true).write(true).open(&part) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let pairs = file.metadata()?.len().saturating_sub(HEADER_LEN) / PAIR_LEN;
        if pairs == 0 {
            std::fs::remove_file(&part)?;
            return Ok(None);
        }
        // A partial sample is dropped.
        file.set_len(HEADER_LEN + pairs * PAIR_LEN)?;
        match repair(&mut file) {
            Ok(_) => {}
            Err(RepairError::Io(error)) => return Err(error),
            Err(RepairError::NoRecording) => {
                std::fs::rename(&part, self.path(of, BROKEN))?;
                return Err(io::Error::new(
                    ErrorKind::InvalidData,
                    format!("it does not begin as a recording does and is left as .{BROKEN}"),
                ));
            }
        }
        file.sync_all()?;
        std::fs::rename(&part, &whole)?;
        sync_folder(&whole)?;
        Ok(Some(whole))
    }

    /// Deletes a recording, complete or not.
    pub(crate) fn remove(&self, of: Of) -> io::Result<()> {
        self.delete(of, PART)?;
        self.delete(of, WHOLE)
    }

    fn delete(&self, of: Of, extension: &str) -> io::Result<()> {
        match std::fs::remove_file(self.path(of, extension)) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

/// The recording of a file with one of these extensions; `None` for other names.
fn named(name: &str, extensions: &[&str]) -> Option<Of> {
    let (of, extension) = name.rsplit_once('.')?;
    let (account, id) = of.split_once('_')?;
    extensions.contains(&extension).then_some(Of {
        account: account.parse().ok()?,
        id: id.parse().ok()?,
    })
}

/// Options for writing, readable by the owner alone.
fn owned() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// A file's name is durable only once its directory is synced.
fn sync_folder(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(folder) if cfg!(unix) => File::open(folder)?.sync_all(),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use offhook_media::wav::Recording;
    use offhook_storage::mint;

    use super::*;

    const T0: offhook_domain::Timestamp =
        offhook_domain::Timestamp::from_micros(1_777_573_931_123_456);

    fn of() -> Of {
        Of {
            account: mint(T0),
            id: mint(T0),
        }
    }

    /// A recording of this many frames.
    fn recorded(frames: i16) -> Vec<u8> {
        let mut recording = Recording::new(io::Cursor::new(Vec::new())).unwrap();
        for frame in 0..frames {
            recording
                .add(&[frame + 1; 160], &[-frame - 1; 160])
                .unwrap();
        }
        recording.finish().unwrap().into_inner()
    }

    fn left(spool: &Spool, of: Of, bytes: &[u8]) {
        spool.create(of).unwrap().write_all(bytes).unwrap();
    }

    #[test]
    fn a_recording_that_is_cut_off_anywhere_is_repaired_to_its_last_sample() {
        let directory = tempfile::tempdir().unwrap();
        let (spool, of) = (Spool::new(directory.path().to_owned()), of());
        let whole = recorded(2);
        for length in 0..=whole.len() {
            // As last saved, before the sound that is now cut off.
            let mut cut = whole[..length].to_vec();
            if length >= 44 {
                cut[40..44].copy_from_slice(&640_u32.to_le_bytes());
            }
            left(&spool, of, &cut);
            assert_eq!(spool.list().unwrap(), [of]);
            let pairs = length.saturating_sub(44) / 4;
            let completed = spool.complete(of).unwrap();
            assert_eq!(completed.is_some(), pairs > 0, "{length}");
            if let Some(path) = completed {
                let bytes = std::fs::read(&path).unwrap();
                assert_eq!(bytes.len(), 44 + pairs * 4);
                assert_eq!(bytes[44..], whole[44..44 + pairs * 4]);
                let length = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
                assert_eq!(
                    (length(4), length(40)),
                    (36 + pairs as u32 * 4, pairs as u32 * 4)
                );
                assert_eq!(spool.complete(of).unwrap(), Some(path), "done already");
            }
            spool.remove(of).unwrap();
            assert_eq!(spool.list().unwrap(), []);
        }
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_is_no_recording_is_left_aside_and_told_once() {
        let directory = tempfile::tempdir().unwrap();
        let (spool, of) = (Spool::new(directory.path().join("deep")), of());
        assert_eq!(spool.list().unwrap(), []);
        left(&spool, of, &[0; 1_000]);
        assert_eq!(
            spool.complete(of).unwrap_err().kind(),
            ErrorKind::InvalidData
        );
        assert_eq!(spool.list().unwrap(), []);
        assert_eq!(spool.complete(of).unwrap(), None);
    }

    #[test]
    fn a_call_is_recorded_once_and_for_its_owner_alone() {
        let directory = tempfile::tempdir().unwrap();
        let (spool, of) = (Spool::new(directory.path().join("recordings")), of());
        left(&spool, of, &recorded(1));
        assert_eq!(
            spool.create(of).unwrap_err().kind(),
            ErrorKind::AlreadyExists
        );
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
            let path = spool.path(of, PART);
            assert_eq!(mode(&path), 0o600);
            assert_eq!(mode(&directory.path().join("recordings")), 0o700);
            assert_eq!(mode(&spool.complete(of).unwrap().unwrap()), 0o600);
        }
    }

    #[test]
    fn a_recording_is_wanted_until_it_is_whole_and_taken_in_as_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let (spool, of) = (Spool::new(directory.path().join("recordings")), of());
        assert_eq!(spool.wanted(of).unwrap(), None);
        spool.want(of, "here").unwrap();
        spool.want(of, "there").unwrap();
        assert_eq!(spool.wanted(of).unwrap().as_deref(), Some("there"));
        for content in [b"whatever its provider sent".as_slice(), b"twice"] {
            // What came before the connection broke is gone.
            spool.fresh(of).unwrap().write_all(&[1; 100]).unwrap();
            spool.fresh(of).unwrap().write_all(content).unwrap();
            assert_eq!(spool.list().unwrap(), [], "not whole");
            assert_eq!(spool.list_wanted().unwrap(), [of]);
            spool.take_in(of).unwrap();
            let path = spool.complete(of).unwrap().unwrap();
            assert_eq!(std::fs::read(path).unwrap(), content);
            spool.remove(of).unwrap();
        }
        spool.fresh(of).unwrap();
        spool.forget(of).unwrap();
        assert_eq!(spool.list_wanted().unwrap(), [of], "a part of it is left");
        spool.discard(of).unwrap();
        spool.discard(of).unwrap();
        assert_eq!(spool.list_wanted().unwrap(), []);
        assert_eq!(
            std::fs::read_dir(directory.path().join("recordings"))
                .unwrap()
                .count(),
            0
        );
    }

    #[test]
    fn other_files_are_not_ours() {
        let directory = tempfile::tempdir().unwrap();
        let spool = Spool::new(directory.path().to_owned());
        let of = of();
        left(&spool, of, b"");
        let id = of.id;
        for name in [
            "notes.txt",
            "a_b.wav",
            ".wav",
            "x",
            &format!("{id}_{id}.broken"),
        ] {
            std::fs::write(directory.path().join(name), b"").unwrap();
        }
        assert_eq!(spool.list().unwrap(), [of]);
    }
}
