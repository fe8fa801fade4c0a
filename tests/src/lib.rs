//! Starting the real binary and speaking to it.
