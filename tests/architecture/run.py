"""The main function of scripts that look at the sources. tests.common.harness has one, too, but it hides the compiler."""


def run_functions(module):
    """Calls the functions test_NAME of a module, given its globals(); returns the exit code."""
    tests = [(name, function) for name, function in sorted(module.items()) if name.startswith("test_")]
    failed = 0
    for name, function in tests:
        try:
            function()
        except AssertionError as error:
            failed += 1
            print(f"FAIL {name}: {error}")
    print(f"{len(tests) - failed} passed, {failed} failed")
    return 1 if failed else 0
