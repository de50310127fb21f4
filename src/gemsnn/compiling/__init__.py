"""All that depends on the internals of Numba, or on llvmlite; other folders only use the functions defined here.

Numba's documented functions (``njit``, ``intrinsic``) are deprecated before they change, its internals are not. This is
what each file relies on, and which test fails when a new version breaks it:

``jit.py``
    The undocumented options ``_nrt`` (no reference counting), ``forceinline``, ``no_cfunc_wrapper`` and
    ``no_cpython_wrapper`` of ``njit``, which refuses options that it does not know when a kernel is compiled:
    ``tests/compiling/test_by_number.py``. The attribute ``_cache`` of dispatchers, and ``numba.core.event``: its
    ``numba:compile`` and ``data["dispatcher"]``. ``tests/compiling/test_kernel_files.py``.
``kernel_files.py``
    ``numba.core.caching.FunctionCache``: ``load_overload``, ``save_overload`` and ``cache_path``, which dispatchers ask
    for, and ``_index_key`` with its ``_py_func``; ``CompileResult``: ``_reduce``, ``_rebuild``, ``lifted`` and
    ``library.has_dynamic_globals``; ``numba.core.serialize.dumps``. ``tests/compiling/test_kernel_files.py``.
``pointers.py``
    ``numba.core.ccallback.CFunc``, its attribute ``_cache`` and its ``compile``; ``FunctionModel`` of
    ``numba.experimental.function_type``, whose field for an address is called ``c_addr`` or ``addr``; ``_numba_type_``.
    ``tests/compiling/test_pointers.py``.
``by_number.py``
    That data models have ``as_data`` and ``load_from_data_pointer``; ``cgutils.alloca_once``.
    ``tests/compiling/test_by_number.py``.
``instructions.py``
    llvmlite's ``ctpop``, ``cttz`` and integers of 128 bits. ``tests/compiling/test_instructions.py``.

``pyproject.toml`` has an upper bound at the newest version that passed; the workflow ``numba.yml`` tries release
candidates every week.
"""
