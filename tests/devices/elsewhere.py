"""Owns the list of tests that are not of a GPU, each with its reason."""

from __future__ import annotations

from typing import Final

_BITS: Final = "bits of sums and elementary functions are the host's; here they are compared within a bound elsewhere"
_POOL: Final = "counts bytes of the host's pool, or has its allocations fail; tests/devices does so on a device"
_PLANS: Final = "counts compilations, which here are one for each alignment, or what is computed along"
_THERE: Final = "it is not in the host's memory"
_AT_ONCE: Final = "counts launches of the host; where a device is set, plain arrays are NumPy's, operator by operator"
_HOST: Final = "the array lies on the device, where its library is asked to share it; tests/devices/test_sharing.py"
_EQUALS: Final = "which of equal elements comes first is the device's to say, also of zeros and NaN; it sorts stably"
_NAN: Final = "NaN that a GPU makes or moves have other bits; that they are at the end is in test_sorts_on_gpu.py"
_FALLS: Final = "what is found among keys that do not rise is the device's"
_COUNTS: Final = "counts kernels, evaluations or fallbacks of the host, which a device has at other places"
_LAYOUT: Final = "the device's library leaves products in C order"
_PRODUCTS: Final = "sums of products on a device are its library's, no kernels"
_PAUSES: Final = "spans on a device are not interpreted in NumPy, so that none pauses"
_SORTED_CODES: Final = "f8 f4 f2 i8 i4 i2 u8 u4 u1".split()
_DRAWN: Final = ("at random", "falling", "backwards")  # numbers of 32 bits, some of which are equal
# Tests that are not of a device, by the beginning of their names.
ELSEWHERE: Final = {
    "tests/runtime/test_sums.py::test_sums_in_natural_layouts_are_numpys": _BITS,
    "tests/frontend/test_versions.py::test_sums_have_the_bits_of_this_release": _BITS,
    "tests/frontend/test_small_calls.py::test_a_power_has_the_bits_of_compiled_kernels": _BITS,
    "tests/frontend/test_linalg.py::test_norms_of_rows_are_one_kernel_with_what_they_are_of": _BITS,
    "tests/property/test_reductions.py::test_reductions_equal_numpy": _BITS,
    "tests/property/test_programs.py::test_eager_and_compiled_give_the_same_bits": _BITS,
    "tests/property/test_programs.py::test_with_numpys_loops_the_bits_are_numpys": _BITS,
    "tests/property/test_programs.py::test_programs_equal_numpy_wherever_they_are_evaluated": _BITS,
    "tests/frontend/test_linalg.py::test_products_agree_with_numpy[solve": "signs of zeros in a solution are LAPACK's",
    "tests/runtime/test_memory.py::test_the_activation_needs_its_inputs_and_its_result": _POOL,
    "tests/runtime/test_memory.py::test_a_loop_that_is_evaluated_step_by_step_holds_two_buffers": _POOL,
    "tests/runtime/test_memory.py::test_a_loop_that_is_only_recorded_holds_one_buffer": _POOL,
    "tests/runtime/test_memory.py::test_one_whose_pieces_take_several_kernels_holds_one_more": _POOL,
    "tests/runtime/test_memory.py::test_a_stencil_that_writes_its_array_holds_it_and_one_more": _POOL,
    "tests/runtime/test_memory.py::test_memory_that_ends_within_a_plan_leaves_everything_usable": _POOL,
    "tests/runtime/test_memory.py::test_an_error_leaves_all_that_was_recorded_of_a_value_without_a_name": _POOL,
    "tests/runtime/test_memory.py::test_what_plans_compute_otherwise_than_it_was_recorded_outlives_an_error": _POOL,
    "tests/runtime/test_errors_in_runs.py::test_what_an_error_ended_is_right_when_it_is_evaluated_again": _POOL,
    "tests/runtime/test_failures.py::test_the_note_has_file_number_and_text_of_the_line": _POOL,
    "tests/runtime/test_fused_programs.py::test_a_heat_step_is_one_kernel_that_writes_the_array_in_place": _PLANS,
    "tests/runtime/test_fused_programs.py::test_what_follows_a_product_is_written_over_it": _POOL,
    "tests/runtime/test_fused_programs.py::test_a_new_size_or_scalar_compiles_nothing": _PLANS,
    "tests/runtime/test_fused_programs.py::test_a_long_loop_compiles_a_bounded_number": _PLANS,
    "tests/runtime/test_fused_programs.py::test_dropped_results_are_never_computed": _PLANS,
    "tests/frontend/test_recipes.py": "compares sums by their bits",
    "tests/frontend/test_jit.py::test_real_parts_of_another_sign_of_zero_are_told_apart": (
        "a GPU's products of a real array and a complex number have real parts of +0.0 for -0.0"
    ),
    "tests/frontend/test_small_regions.py::test_results_are_numpys_and_nothing_is_planned": (
        "small regions of arrays on a device are read and written by kernels"
    ),
    "tests/frontend/test_linalg.py::test_short_products_of_what_is_in_memory": _THERE,
    "tests/frontend/test_waiting.py::test_an_expression_is_one_kernel_with_numpys_bits": _AT_ONCE,
    "tests/frontend/test_waiting.py::test_views_are_read_where_they_lie[f8": _AT_ONCE,
    "tests/frontend/test_waiting.py::test_numpys_numbers_take_part": _AT_ONCE,
    "tests/frontend/test_waiting.py::test_few_elements_and_short_expressions_run_at_once": _AT_ONCE,
    "tests/frontend/test_products.py::test_a_product_with_a_vector_in_memory_is_made_at_once_whatever_its_size": (
        "counts what is recorded, which on a device products are"
    ),
    "tests/frontend/test_products.py::test_the_second_product_is_recorded_at_once": (
        "products on a device have recipes; tests/devices/test_recipes_on_devices.py"
    ),
    "tests/frontend/test_memory_of_others.py::test_matrices_are_read_where_they_lie[a vector": (
        "short products of what is on a device are the device's"
    ),
    "tests/frontend/test_memory_of_others.py::test_matrices_are_read_where_they_lie[product": (
        "short products of what is on a device are the device's"
    ),
    "tests/frontend/test_at_once.py::test_calls_on_memory_are_numpys_and_nothing_is_evaluated": _THERE,
    "tests/frontend/test_at_once.py::test_a_truth_that_shows_at_the_beginning": _THERE,
    "tests/frontend/test_no_copies.py::test_a_view_of_what_is_computed_costs_nothing": _THERE,
    "tests/frontend/test_waiting.py::test_operators_of_numbers_count_for_nothing": _AT_ONCE,
    "tests/runtime/test_heirs.py::test_a_total_that_is_known_is_no_reason_to_keep_a_value": _POOL,
    "tests/runtime/test_heirs.py::test_results_that_read_other_elements_are_numpys[<lambda>6": _BITS,
    **{
        f"tests/runtime/test_heirs.py::test_a_value_that_somebody_has_is_as_it_was[{held}-from_dlpack": _HOST
        for held in ("replaced", "rooted", "clipped")
    },
    "tests/frontend/test_windows.py::test_an_expression_is_one_kernel_and_copies_nothing": _AT_ONCE,
    **{
        f"tests/frontend/test_mixtures.py::test_mixtures_agree_with_numpy[large-foreign-{mode}]": _BITS  # of next to 0
        for mode in ("recorded", "default")
    },
    "tests/frontend/test_histograms.py::test_a_histogram_is_one_pass": "the device's library counts",
    "tests/frontend/test_lending.py::test_walking_through_an_array_evaluates_nothing": _THERE,
    "tests/frontend/test_reductions.py::test_positions_in_few_rows_are_looked_up": _THERE,
    "tests/frontend/test_transforms.py::test_what_overflows_warns_once": "the device's library tells no errors",
    "tests/runtime/test_dump.py::test_a_dump_holds_every_stage_from_graph_to_assembly": "LLVM's stages",
    "tests/frontend/test_namespace.py::test_fallbacks_are_counted_and_wrapped": "CuPy serves one of the fallbacks",
    "tests/frontend/test_numpys_protocols.py::test_every_name_of_the_standard_is_there": "x.device is not cpu",
    "tests/ecosystem/test_dlpack.py::test_dtypes_and_strides_survive": _HOST,
    "tests/ecosystem/test_dlpack.py::test_functions_of_torch_take_lazy_arrays": _HOST,
    "tests/ecosystem/test_dlpack.py::test_numpy_shares_the_memory": _HOST,
    "tests/ecosystem/test_dlpack.py::test_torch_shares_the_memory_both_ways": _HOST,
    # ---- bits
    "tests/ecosystem/test_sklearn.py::test_generators_draw_numpys_arrays_for_packages": _BITS,
    "tests/frontend/test_einsum.py::test_a_product_of_matrices_has_the_bits_of_matmul": _BITS,
    "tests/frontend/test_einsum.py::test_numerics_of_numpy_is_numpys_own_loop": _BITS,
    "tests/frontend/test_einsum.py::test_rows_of_products_are_added_as_sum_adds_them": _BITS,
    "tests/frontend/test_einsum.py::test_single_rows_and_columns_are_numpys[2000-1]": _BITS,
    "tests/frontend/test_einsum.py::test_writes_after_a_call_do_not_change_it": _BITS,
    "tests/frontend/test_einsum.py::test_what_einsum_returns_again_is_of_the_present_operands[ij,jk->ik]": _BITS,
    "tests/frontend/test_einsum.py::test_what_recipes_record_is_evaluated_when_it_has_become_much": _BITS,
    "tests/frontend/test_own_loops.py::test_small_ones_have_the_bits_of_what_is_recorded": _BITS,
    "tests/frontend/test_einsum.py::test_no_sum_is_minus_zero[ij,ij->ij": "what is not summed is not added to 0.0",
    **{
        f"tests/frontend/test_memory_of_others.py::test_what_{test}": reason
        for name, reason in {"running sum": _BITS, "product": "in another order the product leaves the range"}.items()
        for test in (
            f"the_owner_writes_later_is_not_seen[{name}]",
            f"is_reduced_is_read_once_by_kernels_whenever_it_is_asked_for[{name}-",
        )
    },
    **{
        f"tests/frontend/test_small_folds.py::test_a_fold_along_an_axis_is_numpys[{name}-{code}-{kind}]": _BITS
        for name, codes in {"sum": "efdFD", "mean": "efdFD", "var": "?bHilLefdFD", "std": "?bHilLefdFD"}.items()
        for code in codes
        for kind in ("usual", "zeros", "odd")
    },
    **{
        f"tests/frontend/test_small_calls_in_c.py::test_short_lines[{special}-{code}-{name}]": _BITS
        for special in (None, 0.0, -0.0)
        for code in "fd"
        for name in ("sum", "mean", "var", "std")
    },
    **{
        f"tests/frontend/test_small_calls_in_c.py::test_short_lines[nan-f-{name}]": _NAN
        for name in ("sum", "mean", "var", "std", "max", "min")
    },
    "tests/frontend/test_sliding_windows.py::test_an_array_may_be_written_with_what_its_windows_make": _BITS,
    "tests/frontend/test_sliding_windows.py::test_windows_keep_what_was_there_when_they_were_asked": _BITS,
    **{
        f"tests/frontend/test_sliding_windows.py::test_what_is_made_of_windows_is_numpys[{name}]": _BITS
        for name in (
            *("sums", "means", "deviations", "sums over the first axis", "squares", "running sums", "every eighth"),
            *("along axes", "a convolution", "of windows", "of what is pending", "all of it"),
        )
    },
    "tests/frontend/test_power_by_number.py::"
    "test_powers_that_are_products_quotients_and_roots_are_exact[70000-f4": _NAN,
    **{
        f"tests/frontend/test_quantiles.py::test_medians_of_lines_without_their_nan_are_numpys[{name}-{shape}-f4": _NAN
        for name in ("lines of NaN", "NaN alone")
        for shape in ("(20, 30, 40)", "(700, 40)", "(40, 700)", "(5000, 4)")
    },
    # ---- sorts and searches
    **{
        f"tests/frontend/test_rankings.py::test_places_are_numpys[{code}-{made}-argsort": _EQUALS
        for code in ("f8", "f4", "i8", "i4", "u8", "u4")
        for made in ("many equal", "two values", "a tail, twice", *(_DRAWN if code[1] == "4" else ()))
    },
    **{
        f"tests/frontend/test_rankings.py::test_lines_of_each_axis[{code}-shape{number}-None": _EQUALS
        for code in _SORTED_CODES
        for number in (0, 1, 2, 5, 6)
    },
    **{
        f"tests/frontend/test_rankings.py::test_other_dtypes_are_numpys_to_rank[{code}": _EQUALS
        for code in ("i2", "u1", "f2")
    },
    "tests/frontend/test_rankings.py::test_zeros_and_nan_are_equal_to_others_of_their_kind": _EQUALS,
    **{f"tests/frontend/test_sorts.py::test_a_long_vector[{code}-places": _EQUALS for code in _SORTED_CODES},
    **{
        f"tests/frontend/test_sorts.py::test_a_long_vector[{code}-{name}-": _EQUALS
        for code in ("f8", "f4", "f2")
        for name in ("sort", "in place", "flattened")
    },
    **{
        f"tests/frontend/test_sorts.py::test_lines_of_each_axis[{code}-shape{number}-{kind}": _EQUALS
        for code in _SORTED_CODES
        for number in range(7)
        for kind in (None, "quicksort", "heapsort")
    },
    "tests/frontend/test_sorts.py::test_some_zeros_of_both_signs_in_one_part": _EQUALS,
    **{
        f"tests/frontend/test_sorts.py::test_zeros_and_nan_of_any_kind[{share}-[{put}": reason
        for share in (1, 2, 1000)
        for put, reason in {"nan": _NAN, "inf, -inf, nan": _NAN, "0.0, -0.0": _EQUALS}.items()
    },
    **{f"tests/frontend/test_searches.py::test_searchsorted[{keys}-": _FALLS for keys in ("not sorted", "falling")},
    # ---- how much is done, and where
    "tests/frontend/test_einsum.py::test_sums_of_products_are_recorded": _PRODUCTS,
    "tests/frontend/test_einsum.py::"
    "test_a_sum_of_products_is_recorded_again_by_a_recipe_that_tells_nothing_either": _PRODUCTS,
    "tests/frontend/test_einsum.py::test_a_recipe_made_where_nothing_is_told_tells_nothing_elsewhere": _PRODUCTS,
    **{
        f"tests/frontend/test_einsum.py::test_products_of_matrices_are_numpys_up_to_the_order_of_sums[{made}-": _LAYOUT
        for made in ("ij,jk->ki", "bij,bjk->ibk", "bij,bjk->kib", "aibj,akbj->abik")
    },
    "tests/frontend/test_einsum.py::"
    "test_several_operands_are_made_by_two_where_that_is_less_work[ij,jk,kl->li": _LAYOUT,
    "tests/frontend/test_at_once.py::"
    "test_few_rows_of_a_large_array_are_picked_at_once_by_numbers_of_either_kind": _COUNTS,
    "tests/frontend/test_at_once.py::test_narrow_integers_are_searched_at_once_in_long_rows_only": _COUNTS,
    "tests/frontend/test_histograms.py::test_small_histograms_that_come_again_are_compiled": (
        "the device's library counts"
    ),
    "tests/frontend/test_memory_of_others.py::test_values_that_are_there_are_written_over_in_one_pass": _COUNTS,
    "tests/frontend/test_memory_of_others.py::test_what_functions_make_is_recorded_and_evaluated_at_once": _COUNTS,
    "tests/frontend/test_memory_of_others.py::test_what_is_written_under_a_mask_is_written_where_it_lies": _COUNTS,
    "tests/frontend/test_no_copies.py::test_an_operand_that_is_the_output_is_overwritten_in_its_memory": _POOL,
    **{
        f"tests/frontend/test_pauses.py::test_{name}": _PAUSES
        for name in (
            *("a_span_is_seldom_interpreted", "spans_pause_one_by_one", "what_is_compiled_does_not_pause"),
            "a_span_whose_sizes_come_again_does_not_pause",
        )
    },
    "tests/frontend/test_plain_numbers.py::test_a_masked_write_of_small_pending_operands_is_one_evaluation": _COUNTS,
    "tests/frontend/test_products.py::test_products_with_a_vector_come_again_too": (
        "products on a device have recipes; tests/devices/test_recipes_on_devices.py"
    ),
    "tests/frontend/test_scatter_compress.py::"
    "test_index_arrays_selected_by_one_mask_are_evaluated_together_and_few_are_checked_in_memory": _COUNTS,
    "tests/frontend/test_stores.py::test_a_kernel_writes_where_the_value_is_stored": _COUNTS,
    "tests/runtime/test_memory.py::test_a_sum_of_what_a_library_returns_holds_little_of_it": (
        "a device solves by a library of its own, within other bounds; tests/devices/test_devices.py"
    ),
    "tests/schedule/test_streams.py::test_a_long_sum_is_cut[of one array": "NumPy is to read it on the host",
}
