//! The data directory: its lock, its master key and the address that is served.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Write as _};

use offhook_storage::{MASTER_KEY_LEN, MasterKey};

use crate::prelude::*;

const LOCK_FILE: &str = "lock";
const MASTER_KEY_FILE: &str = "master.key";
const NODE_FILE: &str = "node";

/// The address that is served.
pub(crate) const LISTEN: &str = "listen";

/// Where the figures are served.
pub(crate) const METRICS_LISTEN: &str = "metrics-listen";

/// Where carriers reach the service.
pub(crate) const SIP_LISTEN: &str = "sip-listen";

/// The right to serve from a data directory; it ends with the value, or with the process.
#[derive(Debug)]
pub(crate) struct DataDirLock {
    _file: File,
}

/// Makes the data directory, open to its owner alone, if there is none.
pub(crate) fn create(dir: &Path) -> anyhow::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
        .create(dir)
        .with_context(|| format!("the data directory {} cannot be made", dir.display()))
}

/// Takes the data directory for this process.
///
/// # Errors
/// Another process serves from it, or the lock file cannot be opened.
pub(crate) fn lock(dir: &Path) -> anyhow::Result<DataDirLock> {
    let path = dir.join(LOCK_FILE);
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .with_context(|| format!("{} cannot be opened", path.display()))?;
    match file.try_lock() {
        Ok(()) => Ok(DataDirLock { _file: file }),
        Err(TryLockError::WouldBlock) => bail!(
            "another offhook serves from the data directory {}: stop it, or give this one its own --data-dir",
            dir.display()
        ),
        Err(TryLockError::Error(error)) => {
            Err(error).with_context(|| format!("{} cannot be locked", path.display()))
        }
    }
}

/// Writes down which process serves from this directory, and tells which one did before. Whoever holds the lock knows
/// that that one is gone, without waiting for its registration to run out.
pub(crate) fn succeed(dir: &Path, node: NodeId) -> anyhow::Result<Option<NodeId>> {
    let path = dir.join(NODE_FILE);
    let before = std::fs::read_to_string(&path)
        .ok()
        .and_then(|text| text.trim().parse().ok());
    std::fs::write(&path, format!("{node}\n"))
        .with_context(|| format!("{} cannot be written", path.display()))?;
    Ok(before)
}

/// Writes down an address of this process, whole or not at all.
pub(crate) fn write_address(dir: &Path, file: &str, address: SocketAddr) -> anyhow::Result<()> {
    let path = dir.join(file);
    let fresh = dir.join(format!(".{file}.{}", std::process::id()));
    std::fs::write(&fresh, format!("{address}\n"))
        .and_then(|()| std::fs::rename(&fresh, &path))
        .with_context(|| format!("{} cannot be written", path.display()))
}

/// The address that a process serves from this directory, if one does.
pub(crate) fn read_listen(dir: &Path) -> Option<SocketAddr> {
    let text = std::fs::read_to_string(dir.join(LISTEN)).ok()?;
    text.trim().parse().ok()
}

/// Takes back the addresses that were written down.
pub(crate) fn remove_listen(dir: &Path) {
    for file in [LISTEN, METRICS_LISTEN, SIP_LISTEN] {
        // A file that stays behind is written anew by the next start.
        let _ = std::fs::remove_file(dir.join(file));
    }
}

/// The master key, and behind it, each in a line of its own, earlier ones: that of `master_key_file`; else, with the embedded database, the data directory's own, made at the
/// first start.
///
/// # Errors
/// There is none, or the file does not hold one.
pub(crate) fn master_key(settings: &Settings) -> anyhow::Result<MasterKey> {
    let path = match &settings.master_key_file {
        Some(path) => path.clone(),
        None if settings.is_shared() => bail!(
            "setting `master_key_file` is missing: with PostgreSQL give the same file to every node (make one with \
             `openssl rand -hex 32`)"
        ),
        None => own_key(&settings.data_dir)?,
    };
    let text = std::fs::read_to_string(&path)
        .with_context(|| format!("the master key {} cannot be read", path.display()))?;
    let mut keys = text
        .split_whitespace()
        .map(|line| -> anyhow::Result<MasterKey> {
            let mut bytes = [0; MASTER_KEY_LEN];
            hex::decode_to_slice(line, &mut bytes).map_err(|_| {
                anyhow::anyhow!(
                    "the master key {} must be 64 hexadecimal digits, in a line of its own",
                    path.display()
                )
            })?;
            Ok(MasterKey::from_bytes(&bytes)?)
        });
    let first = keys
        .next()
        .with_context(|| format!("the master key {} is empty", path.display()))??;
    keys.try_fold(first, |key, earlier| Ok(key.or_earlier(earlier?)))
}

/// Where the master key is, if it is there.
pub(crate) fn known_master_key(settings: &Settings) -> Option<PathBuf> {
    let own = || settings.data_dir.join(MASTER_KEY_FILE);
    let path = settings.master_key_file.clone().unwrap_or_else(own);
    path.exists().then_some(path)
}

/// Puts a copy of a backup in place of the embedded database, which must not be there, whole or not at all.
///
/// # Errors
/// There is a database, or the backup cannot be copied.
pub(crate) fn place_database(backup: &Path, database: &Path) -> anyhow::Result<()> {
    if database.exists() {
        bail!(
            "{} is there already: move it away, or give another --data-dir",
            database.display()
        );
    }
    let partial = database.with_extension("restoring");
    let placed = copy_owned(backup, &partial)
        .and_then(|()| std::fs::rename(&partial, database))
        .and_then(|()| database.parent().map_or(Ok(()), sync_dir));
    if placed.is_err() {
        let _ = std::fs::remove_file(&partial);
    }
    placed.with_context(|| format!("{} cannot be restored", backup.display()))
}

fn copy_owned(from: &Path, to: &Path) -> std::io::Result<()> {
    let mut copy = create_owned(to)?;
    std::io::copy(&mut File::open(from)?, &mut copy)?;
    copy.sync_all()
}

/// Makes the directory's key if there is none. Of several processes that do so at once one wins, and all read its key.
fn own_key(dir: &Path) -> anyhow::Result<PathBuf> {
    let path = dir.join(MASTER_KEY_FILE);
    if path.exists() {
        return Ok(path);
    }
    let fresh = dir.join(format!(".{MASTER_KEY_FILE}.{}", std::process::id()));
    let made = write_key(&fresh).and_then(|()| match std::fs::hard_link(&fresh, &path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
        _ => sync_dir(dir),
    });
    let _ = std::fs::remove_file(&fresh);
    made.with_context(|| format!("the master key {} cannot be made", path.display()))?;
    Ok(path)
}

fn write_key(path: &Path) -> std::io::Result<()> {
    let bytes = MasterKey::generate_bytes().map_err(std::io::Error::other)?;
    let mut file = create_owned(path)?;
    writeln!(file, "{}", hex::encode(bytes))?;
    file.sync_all()
}

/// An empty file that its owner alone may read.
fn create_owned(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// A file's name is durable only once its directory is.
fn sync_dir(dir: &Path) -> std::io::Result<()> {
    if cfg!(unix) {
        File::open(dir)?.sync_all()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{Flags, Settings};

    fn settings(dir: &Path) -> Settings {
        let flags = Flags {
            data_dir: Some(dir.to_str().unwrap().to_owned()),
            ..Flags::default()
        };
        Settings::from_parts(flags, []).unwrap()
    }

    #[test]
    fn a_second_process_cannot_take_the_directory() {
        let dir = tempfile::tempdir().unwrap();
        let held = lock(dir.path()).unwrap();
        let refused = lock(dir.path()).unwrap_err().to_string();
        assert!(
            refused.starts_with("another offhook serves from the data directory"),
            "{refused}"
        );
        drop(held);
        lock(dir.path()).unwrap();
    }

    #[test]
    fn a_process_learns_which_one_served_before_it() {
        let dir = tempfile::tempdir().unwrap();
        let (first, second) = (crate::parts::new_node(), crate::parts::new_node());
        assert_eq!(succeed(dir.path(), first).unwrap(), None);
        assert_eq!(succeed(dir.path(), second).unwrap(), Some(first));
    }

    #[test]
    fn the_master_key_is_made_once_and_for_its_owner_alone() {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("deep/data");
        create(&data).unwrap();
        let first = master_key(&settings(&data)).unwrap();
        let second = master_key(&settings(&data)).unwrap();
        assert_eq!(first.fingerprint(), second.fingerprint());
        let text = std::fs::read_to_string(data.join("master.key")).unwrap();
        assert_eq!(text.trim().len(), 64);
        let names: Vec<_> = std::fs::read_dir(&data).unwrap().collect();
        assert_eq!(names.len(), 1, "nothing is left behind");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!(mode(&data.join("master.key")), 0o600);
            assert_eq!(mode(&data), 0o700);
        }
    }

    #[test]
    fn with_postgresql_the_master_key_must_be_given() {
        let dir = tempfile::tempdir().unwrap();
        let mut shared = settings(dir.path());
        shared.database_url = Some("postgres://localhost/offhook".parse().unwrap());
        let refused = master_key(&shared).unwrap_err().to_string();
        assert!(refused.starts_with("setting `master_key_file` is missing"));
        let file = dir.path().join("key");
        shared.master_key_file = Some(file.clone());
        assert!(master_key(&shared).is_err());
        std::fs::write(&file, "not a key").unwrap();
        let refused = master_key(&shared).unwrap_err().to_string();
        assert!(refused.ends_with("must be 64 hexadecimal digits, in a line of its own"));
        std::fs::write(&file, "07".repeat(32)).unwrap();
        let old = master_key(&shared).unwrap();
        std::fs::write(&file, format!("{}\n{}\n", "08".repeat(32), "07".repeat(32))).unwrap();
        assert_ne!(
            master_key(&shared).unwrap().fingerprint(),
            old.fingerprint()
        );
        std::fs::write(&file, "\n").unwrap();
        assert!(master_key(&shared).is_err());
    }

    #[test]
    fn the_address_is_written_whole() {
        let dir = tempfile::tempdir().unwrap();
        write_address(dir.path(), LISTEN, "127.0.0.1:4711".parse().unwrap()).unwrap();
        let text = std::fs::read_to_string(dir.path().join("listen")).unwrap();
        assert_eq!(text, "127.0.0.1:4711\n");
        remove_listen(dir.path());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
