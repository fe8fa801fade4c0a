//! Objects as files of a directory.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::SystemTime;

use object_store::local::LocalFileSystem;

use crate::ObjectError;

pub(crate) fn open(path: &Path) -> Result<LocalFileSystem, ObjectError> {
    let failed = |error: io::Error| {
        ObjectError::of(io::Error::new(
            error.kind(),
            format!("the directory {} cannot be used: {error}", path.display()),
        ))
    };
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    // Recordings are for the service's own eyes.
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path).map_err(failed)?;
    Ok(LocalFileSystem::new_with_prefix(path)?.with_fsync(true))
}

/// Files that are being written are called `<name>#<number>` until they are whole.
pub(crate) fn clear_unfinished(directory: &Path, before: SystemTime) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let cleared = if entry.file_type()?.is_dir() {
            clear_unfinished(&entry.path(), before)
        } else if is_unfinished(&entry.file_name().to_string_lossy())
            && entry.metadata()?.modified()? < before
        {
            fs::remove_file(entry.path())
        } else {
            Ok(())
        };
        match cleared {
            // Another process was quicker.
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

fn is_unfinished(name: &str) -> bool {
    name.rsplit_once('#').is_some_and(|(_, number)| {
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}
