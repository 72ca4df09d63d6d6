//! The allocator of the extension module: jemalloc, for its own memory only.
//!
//! Decoding takes and gives back large buffers on changing threads. With arenas per processor these are used again instead of mapped
//! anew; huge pages halve what is left of the page faults. glibc's allocator takes 1.7 times as long for the first full read of a table.

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Read by jemalloc when it starts; `_RJEM_MALLOC_CONF` in the environment comes after it.
#[expect(
    unsafe_code,
    reason = "jemalloc declares this symbol for programs to define, as a pointer to a string that ends with a zero byte"
)]
#[unsafe(export_name = "_rjem_malloc_conf")]
pub static OPTIONS: &[u8; 49] = b"thp:always,metadata_thp:auto,percpu_arena:percpu\0";
