//! The allocator of the extension module: jemalloc, for its own memory only.
//!
//! Decoding allocates and frees large buffers on changing threads. With arenas per processor, these
//! buffers are reused instead of mapped again. Huge pages halve the remaining page faults. glibc's
//! allocator takes 1.7 times as long for the first full read of a table.

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// jemalloc reads this when it starts. `_RJEM_MALLOC_CONF` in the environment is applied after it.
#[expect(
    unsafe_code,
    reason = "jemalloc declares this symbol for programs to define, as a pointer to a string that ends with a zero byte"
)]
#[unsafe(export_name = "_rjem_malloc_conf")]
pub static OPTIONS: &[u8; 49] = b"thp:always,metadata_thp:auto,percpu_arena:percpu\0";
