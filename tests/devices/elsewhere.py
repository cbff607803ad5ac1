"""Owns the list of tests that are not of a GPU, each with its reason."""

from __future__ import annotations

from typing import Final

_BITS: Final = "bits of sums and elementary functions are the host's; here they are compared within a bound elsewhere"
_POOL: Final = "counts bytes of the host's pool, or has its allocations fail; tests/devices does so on a device"
_PLANS: Final = "counts compilations, which here are one for each alignment, or what is computed along"
_THERE: Final = "it is not in the host's memory"
_AT_ONCE: Final = "counts launches of the host; where a device is set, plain arrays are NumPy's, operator by operator"
_HOST: Final = "the array lies on the device, where its library is asked to share it; tests/devices/test_sharing.py"
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
    "tests/frontend/test_mixtures.py::test_mixtures_agree_with_numpy[large-foreign-recorded]": _BITS,  # of next to 0
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
}
